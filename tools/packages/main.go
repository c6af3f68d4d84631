// Command packages builds the files of a release from the checkout in the working directory:
//
//	packages [-out dist] [-targets linux/amd64,darwin/arm64] [-formats tar.gz,deb]
//
// For each target it builds the static binary, an archive (zip for Windows, else tar.gz) and a bill of materials, and
// for Linux deb, rpm and apk packages. With all archives come a Homebrew formula and npm packages. SHA256SUMS names
// every file.
//
// The same commit gives the same bytes on every machine and in every directory: times are those of the commit, or
// SOURCE_DATE_EPOCH; members of archives are sorted; nothing of the machine is recorded. CAIRN_VERSION replaces the
// version that comes from git, for a checkout without it. It uses bin/modules for licences and bills.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// allTargets are the systems that a release has, as GOOS/GOARCH.
const allTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// allFormats are the kinds of files that can be built. "archive" is tar.gz or zip, as the target has it.
const allFormats = "archive,deb,rpm,apk,sbom,formula,npm,acp"

func run(args []string) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	out := flags.String("out", "dist", "write to this `DIRECTORY`, which is emptied first, and has nothing but a release")
	targets := flags.String("targets", allTargets, "build for these systems")
	formats := flags.String("formats", allFormats, "build these kinds of files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := release{out: *out, formats: strings.Split(*formats, ",")}
	if err := checkNames("format", r.formats, allFormats); err != nil {
		return err
	}
	names := strings.Split(*targets, ",")
	if err := checkNames("target", names, allTargets); err != nil {
		return err
	}
	for _, name := range names {
		system, arch, _ := strings.Cut(name, "/")
		r.targets = append(r.targets, target{system, arch})
	}
	return r.build()
}

// checkNames fails if a name is not in the list.
func checkNames(what string, names []string, list string) error {
	known := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown %s %q; known are %s", what, name, list)
		}
	}
	return nil
}

// release is what is built.
type release struct {
	stamp
	out     string // the directory of the results
	work    string // a temporary directory
	formats []string
	targets []target
}

// wants reports whether a format is to be built.
func (r *release) wants(format string) bool { return slices.Contains(r.formats, format) }

func (r *release) build() (err error) {
	if r.stamp, err = readStamp(); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "cairn-packages"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if err := emptyFolder(r.out); err != nil {
		return err
	}
	// What is the same for all targets.
	common, err := r.readCommon()
	if err != nil {
		return err
	}
	// What each target has of its own.
	for _, t := range r.targets {
		if err := r.buildTarget(t, common); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	// What is made of the archives' hashes, and the installer.
	err = errors.Join(r.writeFormula(), r.writeNPMLauncher(), r.writeAgent(), r.writeFile("install.sh", common.installer))
	if err != nil {
		return err
	}
	n, err := writeSums(r.out)
	if err == nil {
		fmt.Printf("packages: %s has %d files of version %s\n", r.out, n, r.version)
	}
	return err
}

// ownNames are the names of a release's files, also of one whose build was cut off.
var ownNames = regexp.MustCompile(`^(cairn_.*|cairn\.rb|npm_cairn.*\.tgz|install\.sh|SHA256SUMS(\.sig)?)$`)

// emptyFolder makes a folder empty that is missing or has the files of a release only.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !ownNames.MatchString(e.Name()) {
			return fmt.Errorf("%s has other files than a release, such as %s, and is not emptied", dir, e.Name())
		}
	}
	return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

// buildTarget builds the binary of a target and writes its packages.
func (r *release) buildTarget(t target, common content) error {
	binary, err := r.buildBinary(t)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	steps := []struct {
		format string
		write  func() error
	}{
		{"archive", func() error { return r.writeArchive(t, common, program) }},
		{"deb", func() error { return r.writeSystemPackage("deb", t, common, program) }},
		{"rpm", func() error { return r.writeSystemPackage("rpm", t, common, program) }},
		{"apk", func() error { return r.writeSystemPackage("apk", t, common, program) }},
		{"sbom", func() error { return r.writeBill(t, binary) }},
		{"npm", func() error { return r.writeNPMProgram(t, common, program) }},
	}
	for _, s := range steps {
		if !r.wants(s.format) {
			continue
		}
		if err := s.write(); err != nil {
			return fmt.Errorf("%s: %w", s.format, err)
		}
	}
	return nil
}

// fileName returns the name of a release's file for a target, such as cairn_1.2.3_linux_amd64.deb.
func (r *release) fileName(t target, ending string) string {
	return fmt.Sprintf("cairn_%s_%s_%s.%s", r.version, t.system, t.arch, ending)
}

// writeFile writes a file of the results.
func (r *release) writeFile(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}

// writeSums writes SHA256SUMS, in the form that sha256sum -c reads, over all files of the directory, and returns their
// number.
func writeSums(dir string) (int, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(b), filepath.ToSlash(name)))
		return err
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return len(lines), os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
