package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// target is a system that a binary is built for, in Go's names.
type target struct{ system, arch string }

func (t target) String() string { return t.system + "/" + t.arch }

// programName returns the file name of the program.
func (t target) programName() string {
	if t.system == "windows" {
		return "cairn.exe"
	}
	return "cairn"
}

// module is the path of the module of the binary.
const module = "github.com/cairn-dev/cairn"

// buildBinary builds the static, stripped binary of a target and returns its path. Version control is not asked by the
// go command, which does not find it in every work tree: the linker sets the version.
func (r *release) buildBinary(t target) (string, error) {
	path := filepath.Join(r.work, t.system+"-"+t.arch, t.programName())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	vars := module + "/internal/cli."
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X "+vars+"linkedVersion="+r.version+" -X "+vars+"linkedRevision="+r.revision, "-o", path, ".")
	// What could change the binary is set; GOFLAGS of the machine is not used.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.arch, "GOFLAGS=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return path, nil
}

// content is what all packages have beside the binary.
type content struct {
	licence, notices, readme, man, unit []byte
	installer                           []byte            // install.sh with the keys of releases
	completions                         map[string][]byte // by shell
}

// readCommon collects the content. Completions and the manual page are printed by the binary of this machine.
func (r *release) readCommon() (c content, err error) {
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{"LICENSE", &c.licence}, {"README.md", &c.readme}, {"packaging/cairn.service", &c.unit}} {
		if *f.to, err = os.ReadFile(f.name); err != nil {
			return c, err
		}
	}
	if c.installer, err = readInstaller(); err != nil {
		return c, err
	}
	if c.notices, err = output("bin/modules", "notices"); err != nil {
		return c, err
	}
	host, err := r.buildBinary(target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return c, err
	}
	c.completions = map[string][]byte{}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if c.completions[shell], err = output(host, "completion", shell); err != nil {
			return c, err
		}
	}
	c.man, err = output(host, "man")
	return c, err
}

// output returns what a program prints. cairn needs no home of its own for what is printed here.
func output(program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "CAIRN_HOME="+os.DevNull)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, args[0], err)
	}
	return out, nil
}

// compress returns the text as gzip, without a name and a time.
func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// writeBill writes the bill of materials of a target's binary.
func (r *release) writeBill(t target, binary string) error {
	out, err := output("bin/modules", "sbom", binary, r.version)
	if err != nil {
		return err
	}
	return r.writeFile(r.fileName(t, "cdx.json"), out)
}
