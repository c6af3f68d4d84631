package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// site is a release on a server of this machine, and the home of a user who installs it.
type site struct {
	*testing.T
	files  map[string][]byte // what the server has
	cut    string            // a file that the server sends in half
	url    string
	home   string
	script []byte
	path   string
}

// newSite serves a release of the version.
func newSite(t *testing.T, version string) *site {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the archives here are for Linux")
	}
	script, err := os.ReadFile(filepath.Join("..", "..", installerFile))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, files: map[string][]byte{}, home: t.TempDir(), script: script, path: os.Getenv("PATH")}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.publish(version, "#!/bin/sh\necho \"cairn "+version+" (abc)\"\n")
	return s
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	b, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	if name == s.cut {
		b = b[:len(b)/2]
	}
	_, _ = w.Write(b)
}

// publish puts a release with this program on the server.
func (s *site) publish(version, program string) {
	s.Helper()
	r := release{stamp: stamp{version: version, time: time.Unix(1, 0)}, out: s.TempDir()}
	t := target{runtime.GOOS, runtime.GOARCH}
	text := []byte(version)
	c := content{installer: s.script, licence: text, notices: text, readme: text, man: text, completions: map[string][]byte{
		"bash": text, "zsh": text, "fish": text,
	}}
	if err := r.writeArchive(t, c, []byte(program)); err != nil {
		s.Fatal(err)
	}
	name := r.fileName(t, "tar.gz")
	b, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		s.Fatal(err)
	}
	s.files = map[string][]byte{name: b, "SHA256SUMS": fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(b), name)}
}

func (s *site) archive() string {
	for name := range s.files {
		if strings.HasSuffix(name, ".tar.gz") {
			return name
		}
	}
	return ""
}

// install runs the installer and returns what it said.
func (s *site) install(args ...string) (string, error) {
	s.Helper()
	cmd := exec.Command("sh", append([]string{"-s", "--"}, args...)...)
	cmd.Stdin = bytes.NewReader(s.script)
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + s.path, "CAIRN_INSTALL_URL=" + s.url, "TMPDIR=" + s.TempDir()}
	cmd.Dir = s.home
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// list returns the files below the home and what the installed program says.
func (s *site) list() (files []string, version string) {
	s.Helper()
	_ = filepath.Walk(s.home, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			files = append(files, strings.TrimPrefix(path, s.home+"/"))
		}
		return nil
	})
	out, _ := exec.Command(filepath.Join(s.home, ".local/bin/cairn"), "--version").Output()
	return files, strings.TrimSpace(string(out))
}

// The installer installs, replaces an installed version, and removes what it installed.
func TestInstall(t *testing.T) {
	s := newSite(t, "1.0.0")
	out, err := s.install()
	if err != nil || !strings.Contains(out, "installed cairn 1.0.0 in "+s.home+"/.local/bin/cairn\n") ||
		!strings.Contains(out, "the signature was not checked") || !strings.Contains(out, "is not in PATH") {
		t.Fatalf("%v: %s", err, out)
	}
	s.publish("1.1.0-rc.1", "#!/bin/sh\necho cairn 1.1.0-rc.1\n")
	out, err = s.install()
	files, version := s.list()
	if err != nil || !strings.Contains(out, "(before: cairn 1.0.0 (abc))") || version != "cairn 1.1.0-rc.1" || len(files) != 9 {
		t.Fatalf("%v: %s: %s, %q", err, out, version, files)
	}
	for args, want := range map[string]string{
		"--check":   "the version to install is 1.1.0-rc.1; installed is cairn 1.1.0-rc.1\n",
		"--upgrade": "cairn 1.1.0-rc.1 is installed already; nothing was done\n",
	} {
		if out, err := s.install(args); err != nil || out != want {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
	marker, err := os.ReadFile(filepath.Join(s.home, ".local/lib/cairn/install"))
	if want := "installer=install.sh\nversion=1.1.0-rc.1\nurl=" + s.url + "\n"; err != nil || string(marker) != want {
		t.Errorf("%v: %q", err, marker)
	}
	if out, err := s.install("--version", "9.9.9"); err == nil || !strings.Contains(out, "has version 1.1.0-rc.1, not 9.9.9") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := s.install("--uninstall"); err != nil || !strings.Contains(out, "removed cairn") {
		t.Errorf("%v: %s", err, out)
	}
	if files, _ := s.list(); len(files) != 0 {
		t.Errorf("%q are left", files)
	}
	if out, err := s.install("--uninstall"); err == nil {
		t.Errorf("removed twice: %s", out)
	}
}

// A download that is damaged, cut off, missing or of another system changes nothing, and leaves nothing behind.
func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*site)
		want  string
	}{
		"a damaged archive": {func(s *site) { s.files[s.archive()][20] ^= 1 }, "is damaged"},
		"a cut archive":     {func(s *site) { s.cut = s.archive() }, "cannot be downloaded"},
		"cut sums":          {func(s *site) { s.cut = "SHA256SUMS" }, "SHA256SUMS cannot be downloaded"},
		"no sums":           {func(s *site) { delete(s.files, "SHA256SUMS") }, "SHA256SUMS cannot be downloaded"},
		"no archive":        {func(s *site) { delete(s.files, s.archive()) }, "cannot be downloaded"},
		"another system": {func(s *site) {
			s.files["SHA256SUMS"] = bytes.ReplaceAll(s.files["SHA256SUMS"], []byte("linux"), []byte("plan9"))
		}, "names no archive"},
		"two versions": {func(s *site) {
			sums := s.files["SHA256SUMS"]
			s.files["SHA256SUMS"] = append(sums, bytes.ReplaceAll(sums, []byte("2.0.0"), []byte("3.0.0"))...)
		}, "more than one archive"},
		"a program that fails": {func(s *site) { s.publish("2.0.0", "#!/bin/sh\nexit 1\n") }, "does not run here"},
		"another program":      {func(s *site) { s.publish("2.0.0", "#!/bin/sh\necho cairn 2.0.01\n") }, "not cairn 2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "1.0.0")
			if out, err := s.install(); err != nil {
				t.Fatal(out, err)
			}
			before, _ := s.list()
			s.publish("2.0.0", "#!/bin/sh\necho cairn 2.0.0\n")
			c.spoil(s)
			out, err := s.install()
			after, version := s.list()
			if err == nil || !strings.Contains(out, c.want) || !strings.Contains(out, "nothing was installed") ||
				version != "cairn 1.0.0 (abc)" || strings.Join(before, " ") != strings.Join(after, " ") {
				t.Errorf("%v: %s: %s, %q", err, out, version, after)
			}
		})
	}
}

// An upgrade does not go back to an older version, unless that is named.
func TestUpgradeToOlder(t *testing.T) {
	for _, c := range []struct {
		version string
		isOlder bool
	}{{"1.9.9", true}, {"0.10.0", true}, {"1.10.0", true}, {"1.10.1-rc.1", false}, {"1.10.2", false}, {"2.0.0", false}} {
		s := newSite(t, "1.10.1")
		if out, err := s.install(); err != nil {
			t.Fatal(out, err)
		}
		s.publish(c.version, "#!/bin/sh\necho cairn "+c.version+"\n")
		out, err := s.install("--upgrade")
		if (err != nil) != c.isOlder || c.isOlder && !strings.Contains(out, "older than 1.10.1") {
			t.Errorf("%s: %v: %s", c.version, err, out)
		}
		if out, err := s.install("--upgrade", "--version", c.version); err != nil {
			t.Errorf("%s, named: %v: %s", c.version, err, out)
		}
		if _, version := s.list(); version != "cairn "+c.version {
			t.Errorf("installed %s", version)
		}
	}
}

// What would be recorded must not have a password, and a service is not left without its program.
func TestInstallerIsCareful(t *testing.T) {
	s := newSite(t, "1.0.0")
	address := s.url
	s.url = strings.Replace(address, "://", "://me:secret@", 1)
	if out, err := s.install(); err == nil || strings.Contains(out, "secret") || !strings.Contains(out, "password") {
		t.Errorf("%v: %s", err, out)
	}
	s.url = address
	prefix := filepath.Join(s.home, "my programs")
	if out, err := s.install("--prefix", prefix); err != nil {
		t.Fatal(out, err)
	}
	unit := filepath.Join(s.home, ".config/systemd/user/cairn.service")
	if err := os.MkdirAll(filepath.Dir(unit), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(unit, []byte("ExecStart=\""+prefix+"/bin/cairn\" serve\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := s.install("--prefix", prefix, "--uninstall"); err == nil || !strings.Contains(out, "cairn service remove") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.Remove(unit); err != nil {
		t.Fatal(err)
	}
	if out, err := s.install("--prefix", prefix, "--uninstall"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if files, _ := s.list(); len(files) != 0 {
		t.Errorf("%q are left", files)
	}
}

// A copy of the installer that was cut off anywhere does nothing.
func TestCutInstaller(t *testing.T) {
	s := newSite(t, "1.0.0")
	whole := s.script
	for n := 0; n < len(whole)-1; n += min(97, max(1, len(whole)-40-n)) { // each byte of the last line
		s.script = whole[:n]
		_, _ = s.install()
		if files, _ := s.list(); len(files) != 0 {
			t.Fatalf("cut after %d bytes it wrote %q", n, files)
		}
	}
}

// linkTools returns a folder with the programs that the installer uses, and the one to download with.
func linkTools(t *testing.T, download string) string {
	t.Helper()
	dir := t.TempDir()
	tools := strings.Fields("sh uname sha256sum cut grep tail tar mktemp rm cp mv mkdir chmod cat dirname gzip")
	for _, tool := range slices.Compact(append(tools, download)) {
		at, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(at, filepath.Join(dir, tool))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The installer downloads with wget where curl is missing, and refuses in words where both are.
func TestInstallWithoutCurl(t *testing.T) {
	s := newSite(t, "1.0.0")
	s.path = linkTools(t, "gzip") // nothing to download with
	if out, err := s.install(); err == nil || !strings.Contains(out, "curl or wget is needed") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := exec.LookPath("wget"); err != nil {
		t.Skip("wget is not installed")
	}
	s.path = linkTools(t, "wget")
	if out, err := s.install(); err != nil || !strings.Contains(out, "installed cairn 1.0.0") {
		t.Errorf("%v: %s", err, out)
	}
	s.publish("1.1.0", "#!/bin/sh\necho cairn 1.1.0\n")
	s.cut = s.archive()
	if out, err := s.install(); err == nil || !strings.Contains(out, "nothing was installed") {
		t.Errorf("%v: %s", err, out)
	}
}

// With the keys of a release the installer accepts their signature only, and needs one.
func TestInstallChecksSignature(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	s := newSite(t, "1.0.0")
	dir := t.TempDir()
	// sign makes a key and signs SHA256SUMS with it. It returns the line of allowed signers.
	sign := func(name string) string {
		key, sums := filepath.Join(dir, name), filepath.Join(dir, "SHA256SUMS")
		run := func(args ...string) {
			if out, err := exec.Command("ssh-keygen", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		run("-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
		if err := os.WriteFile(sums, s.files["SHA256SUMS"], 0o644); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(sums + ".sig") // ssh-keygen asks before it replaces one
		run("-Y", "sign", "-n", "cairn-release", "-f", key, sums)
		public, err := os.ReadFile(key + ".pub")
		signature, err2 := os.ReadFile(sums + ".sig")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		s.files["SHA256SUMS.sig"] = signature
		return "releases@cairn-dev namespaces=\"cairn-release\" " + string(public)
	}
	wrong := sign("wrong")
	right := sign("right")
	var err error
	if s.script, err = addKeys(s.script, []byte(right)); err != nil {
		t.Fatal(err)
	}
	if out, err := s.install(); err != nil || !strings.Contains(out, "the signature is right") {
		t.Errorf("%v: %s", err, out)
	}
	// Without ssh-keygen the signature is not checked, and the installer says so.
	ordinary := s.path
	s.path = linkTools(t, "curl")
	if out, err := s.install(); err != nil || !strings.Contains(out, "not checked: ssh-keygen is not installed") {
		t.Errorf("%v: %s", err, out)
	}
	s.path = ordinary
	// A signature of another key, of another text, and none.
	s.publish("2.0.0", "#!/bin/sh\necho cairn 2.0.0\n")
	if out, err := s.install(); err == nil || !strings.Contains(out, "has no signature") {
		t.Errorf("without a signature: %v: %s", err, out)
	}
	sign("another")
	if out, err := s.install(); err == nil || !strings.Contains(out, "signature of") {
		t.Errorf("of another key than %s: %v: %s", wrong, err, out)
	}
	if _, version := s.list(); version != "cairn 1.0.0 (abc)" {
		t.Errorf("installed %s", version)
	}
}
