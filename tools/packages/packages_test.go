package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A commit with a tag has the tag's version; one after it has a version between that and the next.
func TestDeriveVersion(t *testing.T) {
	at := time.Date(2026, 11, 30, 6, 10, 40, 0, time.UTC)
	for _, c := range []struct {
		tag       string
		isTagged  bool
		isChanged bool
		want      string // "" for an error
	}{
		{"v1.2.3", true, false, "1.2.3"},
		{"v1.2.3-rc.1", true, false, "1.2.3-rc.1"},
		{"v1.2.3", true, true, "1.2.4-dev.20261130061040.changed"},
		{"v1.2.3", false, false, "1.2.4-dev.20261130061040"},
		{"v1.2.3-rc.1", false, false, "1.2.3-rc.1.dev.20261130061040"},
		{"", false, false, "0.0.0-dev.20261130061040"},
		{"v1.2", true, false, ""},
	} {
		got, err := deriveVersion(c.tag, c.isTagged, at, c.isChanged)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// Versions before a release sort before it in each package system, and have its form.
func TestSystemVersion(t *testing.T) {
	for _, c := range []struct{ version, format, want string }{
		{"1.2.3", "deb", "1.2.3"},
		{"1.2.3", "apk", "1.2.3"},
		{"1.2.3-rc.1", "deb", "1.2.3~rc.1"},
		{"1.2.3-rc.1", "rpm", "1.2.3~rc.1"},
		{"1.2.3-rc.1", "apk", "1.2.3_rc1"},
		{"1.2.3-beta2", "apk", "1.2.3_beta2"},
		{"1.2.3-dev.20261130061040.changed", "apk", "1.2.3_pre20261130061040"},
		{"1.2.3-rc.1.dev.20261130061040", "apk", "1.2.3_rc1_p20261130061040"},
		{"1.2.3-rc.1.dev.20261130061040", "deb", "1.2.3~rc.1.dev.20261130061040"},
	} {
		if got := (stamp{version: c.version}).systemVersion(c.format); got != c.want {
			t.Errorf("%s for %s: %s, want %s", c.version, c.format, got, c.want)
		}
	}
}

// Archives do not depend on the order in which files were collected.
func TestArchivesAreSorted(t *testing.T) {
	files := []file{{"b", 0o644, []byte("1")}, {"a", 0o755, []byte("2")}}
	turned := slices.Clone(files)
	slices.Reverse(turned)
	for name, pack := range map[string]func([]file, time.Time) ([]byte, error){"tar": packTar, "zip": packZip} {
		one, err := pack(files, time.Unix(1, 0))
		two, err2 := pack(turned, time.Unix(1, 0))
		if err != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: %v, %v, the archives differ", name, err, err2)
		}
		later, err := pack(files, time.Unix(5, 0))
		if err != nil || bytes.Equal(one, later) {
			t.Errorf("%s: %v, the time is not in it", name, err)
		}
	}
}

// The formula has each archive with its hash.
func TestFormula(t *testing.T) {
	hashes := map[target]string{}
	for _, s := range brewTargets {
		hashes[s] = strings.Repeat(s.system[:1]+s.arch[:1], 32)
	}
	r := release{stamp: stamp{version: "1.2.3"}}
	got := r.formatFormula(hashes)
	for _, want := range []string{
		`version "1.2.3"`,
		"on_macos do\n    on_arm do\n      url \"https://github.com/cairn-dev/cairn/releases/download/v1.2.3/" +
			"cairn_1.2.3_darwin_arm64.tar.gz\"\n      sha256 \"" + strings.Repeat("da", 32) + "\"\n    end\n    on_intel do\n",
		"cairn_1.2.3_linux_amd64.tar.gz\"\n      sha256 \"" + strings.Repeat("la", 32) + "\"\n    end\n  end\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

// SHA256SUMS is what sha256sum checks, and names the files of folders as well.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a/c"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n, err := writeSums(dir)
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || string(out) != "a/c: OK\nb: OK\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// A folder with other files than those of a release is not emptied.
func TestEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "letter")
	if err := os.WriteFile(foreign, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := emptyFolder(dir); err == nil || !strings.Contains(err.Error(), "letter") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cairn_1.2.3_linux_amd64.tar.gz", "cairn.rb", "npm_cairn_1.2.3.tgz", "SHA256SUMS.sig"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(emptyFolder(dir), os.Remove(foreign)); err == nil || !strings.Contains(err.Error(), "letter") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "new", "folder")} {
		if err := emptyFolder(name); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(name); err != nil || len(entries) != 0 {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// The keys of a release get into the installer at one place, and nothing else does.
func TestAddKeys(t *testing.T) {
	script := []byte("#!/bin/sh\nrelease_keys=''\nmain\n")
	got, err := addKeys(script, []byte("releases@cairn-dev ssh-ed25519 AAAA\n"))
	if want := "#!/bin/sh\nrelease_keys='releases@cairn-dev ssh-ed25519 AAAA'\nmain\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := addKeys(script, []byte("x' ; rm -rf /")); err == nil {
		t.Error("a quotation mark got into the installer")
	}
	if _, err := addKeys([]byte("#!/bin/sh\n"), nil); err == nil {
		t.Error("an installer without the line was accepted")
	}
}

// An apk says the hash of its data, which apk compares, and has a hash for each file.
func TestAPK(t *testing.T) {
	at := time.Unix(1767225600, 0).UTC()
	r := release{stamp: stamp{version: "1.2.3-rc.1", time: at}, out: t.TempDir(), work: t.TempDir()}
	c := content{man: []byte("man"), completions: map[string][]byte{}}
	if err := r.writeSystemPackage("apk", target{"linux", "arm64"}, c, []byte("program")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(r.out, "cairn_1.2.3-rc.1_linux_arm64.apk"))
	if err != nil {
		t.Fatal(err)
	}
	// It is two gzip streams: the control file and the data.
	rest := bytes.NewReader(b)
	control, err := gzip.NewReader(rest)
	if err != nil {
		t.Fatal(err)
	}
	control.Multistream(false)
	text, err := io.ReadAll(control)
	if err != nil {
		t.Fatal(err)
	}
	data := b[len(b)-rest.Len():]
	for _, want := range []string{
		"pkgname = cairn\n", "pkgver = 1.2.3_rc1-r0\n", "arch = aarch64\n", fmt.Sprintf("datahash = %x\n", sha256.Sum256(data)),
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%q is not in the control file: %q", want, text)
		}
	}
	members := readTar(t, data)
	program, ok := members["usr/bin/cairn"]
	if !ok || program.PAXRecords["APK-TOOLS.checksum.SHA1"] != fmt.Sprintf("%x", sha1.Sum([]byte("program"))) ||
		program.Mode != 0o755 || !program.ModTime.Equal(at) || program.Uname != "root" {
		t.Errorf("usr/bin/cairn: %+v", program)
	}
}

// readTar returns the members of a tar.gz by name.
func readTar(t *testing.T, b []byte) map[string]*tar.Header {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]*tar.Header{}
	for r := tar.NewReader(gz); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		members[head.Name] = head
	}
}

// Installing an npm package runs nothing, and the launcher asks for each program in exactly its version.
func TestNPM(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	r := release{
		stamp: stamp{version: "1.2.3", time: time.Unix(1, 0)}, out: t.TempDir(), formats: []string{"npm"},
		targets: []target{{"linux", "amd64"}, {"windows", "arm64"}},
	}
	if err := r.writeNPMLauncher(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(r.out, "npm_cairn_1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	members := readTar(t, b)
	if m := members["package/bin/cairn.js"]; m == nil || m.Mode != 0o755 {
		t.Errorf("the launcher is %+v", m)
	}
	out, err := exec.Command("tar", "-xzOf", filepath.Join(r.out, "npm_cairn_1.2.3.tgz"), "package/package.json").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"@cairn-dev/cairn-linux-x64": "1.2.3"`, `"@cairn-dev/cairn-win32-arm64": "1.2.3"`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("there is no %s in %s", want, out)
		}
	}
	if bytes.Contains(out, []byte("scripts")) {
		t.Errorf("installing runs a script: %s", out)
	}
}
