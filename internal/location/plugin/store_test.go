package plugin_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// registry is a registry of npm with a few packages.
type registry struct {
	*httptest.Server
	packages map[string]map[string]map[string]string // files by package and version
}

func newRegistry(t *testing.T) *registry {
	r := &registry{packages: map[string]map[string]map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// publish adds a version of a package.
func (r *registry) publish(name, version string, files map[string]string) {
	files["package.json"] = string(encode(map[string]any{
		"name": name, "version": version, "main": "index.js", "type": "module",
		"scripts": map[string]string{"postinstall": "touch was-run"},
	}))
	if r.packages[name] == nil {
		r.packages[name] = map[string]map[string]string{}
	}
	r.packages[name][version] = files
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path, _ := url.PathUnescape(strings.TrimPrefix(req.URL.EscapedPath(), "/"))
	name, file, isTarball := strings.Cut(path, "/-/")
	versions, ok := r.packages[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	if isTarball {
		_, _ = w.Write(pack(versions[strings.TrimSuffix(file, ".tgz")]))
		return
	}
	about := map[string]any{}
	newest := ""
	for version, files := range versions {
		newest = max(newest, version)
		sum := sha512.Sum512(pack(files))
		about[version] = map[string]any{
			"name": name, "version": version, "hasInstallScript": true,
			"scripts": map[string]string{"postinstall": "touch was-run"},
			"dist": map[string]string{
				"tarball":   r.URL + "/" + name + "/-/" + version + ".tgz",
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(map[string]any{"name": name, "versions": about, "dist-tags": map[string]string{"latest": newest}}))
}

// pack returns the tarball of a package.
func pack(files map[string]string) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, name := range []string{"package.json", "index.js"} {
		text := files[name]
		_ = tw.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))})
		_, _ = tw.Write([]byte(text))
	}
	_ = tw.Close()
	_ = gz.Close()
	return b.Bytes()
}

// TestStore: packages are installed by the real npm from a registry, without scripts, and run only as they were
// installed.
func TestStore(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not on PATH")
	}
	r := newRegistry(t)
	kit, version := config.SplitPackageName(plugin.Kit)
	r.publish(kit, version, map[string]string{"index.js": "export const tool = (t) => t"})
	r.publish("one", "1.0.0", map[string]string{"index.js": "export default async () => ({})"})
	r.publish("one", "1.1.0", map[string]string{"index.js": "export default async () => ({ event() {} })"})
	r.publish("@scope/two", "2.0.0", map[string]string{"index.js": ""})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	st := &plugin.Store{
		Dir: filepath.Join(t.TempDir(), "plugins"), Supervisor: []string{self, process.SuperviseWord},
		Environment: process.Environment{Set: []string{
			"HOME=" + home, "npm_config_registry=" + r.URL, "npm_config_cache=" + home, "npm_config_update_notifier=false",
		}},
	}
	configured := func(name string) []config.Plugin { return []config.Plugin{{ID: "plugin/x", Name: name}} }
	problem := func(name string) string {
		_, problems := st.Resolve(configured(name))
		if err := problems["plugin/x"]; err != nil {
			return err.Error()
		}
		return ""
	}
	// Before anything is installed.
	if got := problem("one"); !strings.Contains(got, "cairn plugin add one") {
		t.Error(got)
	}
	for _, bad := range []string{
		"--registry=x", "a b", "", "../up", "one@1;rm", "http://x/y.tgz", ".", "..", "-x", "--x", "_x", ".x", "@scope/..",
		"@../x", "@scope/.x", "@scope/-x", "node_modules", "@/x",
	} {
		if _, err := st.Install(t.Context(), bad, false); err == nil {
			t.Errorf("%q was installed", bad)
		}
	}
	// Install a version, another package, and one that does not exist.
	got, err := st.Install(t.Context(), "one@1.0.0", false)
	if err != nil || got.Version != "1.0.0" {
		t.Fatal(got, err)
	}
	if _, err := st.Install(t.Context(), "@scope/two", false); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Install(t.Context(), "missing", false); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
	specs, problems := st.Resolve(configured("one@1.0.0"))
	if len(problems) > 0 || len(specs) != 1 {
		t.Fatal(problems)
	}
	if _, err := os.Stat(filepath.Join(specs[0].Package, "was-run")); err == nil {
		t.Error("an install script was run")
	}
	if got := problem("@scope/two"); got != "" {
		t.Error(got)
	}
	// Another version is wanted, and installed; then the package changes.
	if got := problem("one@1.1.0"); !strings.Contains(got, "cairn plugin update one") {
		t.Error(got)
	}
	if got, err = st.Install(t.Context(), "one", false); err != nil || got.Version != "1.1.0" {
		t.Fatal(got, err)
	}
	file := filepath.Join(specs[0].Package, "index.js")
	if err := os.WriteFile(file, []byte("steal()"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := problem("one"); !strings.Contains(got, "have changed since it was installed") {
		t.Error(got)
	}
	// Scripts run if that is wanted.
	if _, err := st.Install(t.Context(), "one", true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(specs[0].Package, "was-run")); err != nil {
		t.Error(err)
	}
	// A failed installation leaves what was there.
	r.packages["one"] = map[string]map[string]string{"9.0.0": {}}
	if _, err := st.Install(t.Context(), "one@8", false); err == nil {
		t.Error("a version that does not exist was installed")
	}
	if got := problem("one"); got != "" {
		t.Error(got)
	}
	if was, err := st.Remove(t.Context(), "one"); !was || err != nil {
		t.Error(was, err)
	}
	var left []string
	list, err := st.List()
	for _, one := range list {
		left = append(left, one.Name+"@"+one.Version)
	}
	if raw, _ := json.Marshal(left); err != nil || string(raw) != `["@scope/two@2.0.0"]` {
		t.Error(left, err)
	}
}

// TestUnreadableList: a damaged list of what is installed is an error, and nothing runs.
func TestUnreadableList(t *testing.T) {
	t.Parallel()
	st := &plugin.Store{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(st.Dir, "lock.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	specs, problems := st.Resolve([]config.Plugin{{ID: "plugin/one", Name: "one"}})
	if len(specs) > 0 || problems["plugin/one"] == nil {
		t.Error(specs, problems)
	}
}

// newFakeNPM returns a store whose npm is a shell script, run in the directory of the installation.
func newFakeNPM(t *testing.T, script string) *plugin.Store {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\nset -e\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	st := &plugin.Store{Dir: filepath.Join(t.TempDir(), "plugins"), Supervisor: []string{self, process.SuperviseWord}}
	kit, version := config.SplitPackageName(plugin.Kit)
	writeFile(t, filepath.Join(st.Shared(), "node_modules", kit, "package.json"), `{"version": "`+version+`"}`)
	return st
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFailedInstallation: whatever fails, what was installed stays and runs.
func TestFailedInstallation(t *testing.T) {
	// The last argument names the package; its version says what the script does wrong.
	st := newFakeNPM(t, `
for asked; do :; done
name=${asked%@*}; version=${asked#*@}
mkdir -p node_modules/$name
echo "version $version" > node_modules/$name/index.js
about="{\"version\": \"$version\"}"
case $version in
	broken) about="{" ;;
	unversioned) about="{}" ;;
	fifo) mkfifo node_modules/$name/pipe ;;
	large) truncate -s 300M node_modules/$name/large ;;
	empty) rm -r node_modules/$name ;;
	exit) exit 1 ;;
esac
[ $version = empty ] || echo "$about" > node_modules/$name/package.json
`)
	for _, name := range []string{"one@1", "one.new@1"} {
		if _, err := st.Install(t.Context(), name, false); err != nil {
			t.Fatal(err)
		}
	}
	check := func(about string) {
		t.Helper()
		specs, problems := st.Resolve([]config.Plugin{{ID: "plugin/one", Name: "one"}, {ID: "plugin/new", Name: "one.new"}})
		if len(specs) != 2 || len(problems) > 0 {
			t.Fatalf("%s: %v", about, problems)
		}
		text, err := os.ReadFile(filepath.Join(specs[0].Package, "index.js"))
		if err != nil || string(text) != "version 1\n" {
			t.Errorf("%s: %q, %v", about, text, err)
		}
	}
	check("installed")
	for _, version := range []string{"broken", "unversioned", "fifo", "large", "empty", "exit"} {
		if _, err := st.Install(t.Context(), "one@"+version, false); err == nil {
			t.Errorf("%s was installed", version)
		}
		check(version)
	}
	// A list that cannot be written.
	lock := filepath.Join(st.Dir, "lock.json")
	kept, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, lock, "{")
	if _, err := st.Install(t.Context(), "one@2", false); err == nil {
		t.Error("it was installed, and the list is damaged")
	}
	if _, err := st.Install(t.Context(), "other@2", false); err == nil {
		t.Error("another one was installed, and the list is damaged")
	}
	writeFile(t, lock, string(kept))
	check("damaged list")
	entries, err := os.ReadDir(filepath.Join(st.Dir, "packages"))
	if err != nil || len(entries) != 2 {
		t.Error(entries, err)
	}
	// Then one that is well.
	if got, err := st.Install(t.Context(), "one@2", false); err != nil || got.Version != "2" {
		t.Error(got, err)
	}
	if specs, _ := st.Resolve([]config.Plugin{{ID: "plugin/one", Name: "one@2"}}); len(specs) != 1 {
		t.Error("the new version does not run")
	}
}

// TestDirectoryStamp: the stamp of a directory changes with its own files. A project has no plugin outside of it.
func TestDirectoryStamp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := &plugin.Store{Dir: t.TempDir()}
	stamp := func() string {
		t.Helper()
		specs, problems := st.Resolve([]config.Plugin{{ID: "plugin/dir", File: dir}})
		if len(specs) != 1 || specs[0].Package != dir {
			t.Fatal(problems)
		}
		return specs[0].Digest
	}
	writeFile(t, filepath.Join(dir, "package.json"), "{}")
	writeFile(t, filepath.Join(dir, "src/index.ts"), "1")
	writeFile(t, filepath.Join(dir, "node_modules/zod/index.js"), "1")
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "1")
	first := stamp()
	_, problems := st.Resolve([]config.Plugin{{ID: "plugin/dir", File: dir, Project: true, Outside: true}})
	if err := problems["plugin/dir"]; err == nil || !strings.Contains(err.Error(), "outside of the project") {
		t.Errorf("of a project that it is not in: %v", err)
	}
	writeFile(t, filepath.Join(dir, "node_modules/zod/index.js"), "2")
	writeFile(t, filepath.Join(dir, ".git/HEAD"), "2")
	if stamp() != first {
		t.Error("it changes with what is not its own")
	}
	writeFile(t, filepath.Join(dir, "src/index.ts"), "2")
	if stamp() == first {
		t.Error("it does not change with a file")
	}
	// One whose files cannot be compared does not run.
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, problems := st.Resolve([]config.Plugin{{ID: "plugin/dir", File: dir}}); problems["plugin/dir"] == nil {
		t.Error("a directory that cannot be compared runs")
	}
}

// TestTrustedFiles: the plugin of a project runs with the files that were trusted only.
func TestTrustedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.ts"), "import './b'")
	writeFile(t, filepath.Join(dir, "b.ts"), "1")
	claim := &trust.Claim{Root: dir, Absent: []string{"b.tsx"}}
	claim.AddFile("a.ts", trust.WhyPlugin)
	claim.AddImport("b.ts", "a.ts")
	resolve := func() error {
		_, problems := (&plugin.Store{}).Resolve([]config.Plugin{
			{ID: "plugin/a", File: filepath.Join(dir, "a.ts"), Project: true, Trusted: claim.ListPrograms()},
		})
		return problems["plugin/a"]
	}
	if err := resolve(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "b.tsx"), "1")
	if err := resolve(); err == nil || !strings.Contains(err.Error(), "b.tsx did not exist") {
		t.Error(err)
	}
	_ = os.Remove(filepath.Join(dir, "b.tsx"))
	writeFile(t, filepath.Join(dir, "b.ts"), "2")
	if err := resolve(); err == nil || !strings.Contains(err.Error(), "b.ts has changed") {
		t.Error(err)
	}
}
