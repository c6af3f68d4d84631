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
	for _, bad := range []string{"--registry=x", "a b", "", "../up", "one@1;rm", "http://x/y.tgz"} {
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
