package cell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A project's caches have the modules of its go.sum and the settings of programs; a link that a command left there
// leads nothing out of it.
func TestFillCache(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "go.sum"),
		"example.org/A v1.0.0 h1:x\nexample.org/A v1.0.0/go.mod h1:x\nexample.org/b v1.0.0 h1:x\n../../../c v1 h1:x\n")
	downloads := filepath.Join("go", "pkg", "mod", "cache", "download", "example.org")
	for _, name := range []string{"!a/@v/v1.0.0.zip", "b/@v/v1.0.0.zip", "other/@v/v1.0.0.zip"} {
		write(t, filepath.Join(home, downloads, name), name)
	}
	for _, name := range []string{
		".cargo/config.toml", ".gradle/gradle.properties", ".gradle/init.d/a.gradle", ".nuget/NuGet/NuGet.Config",
		".gradle/wrapper/dists/gradle-8/0a1b/gradle-8.zip.ok", ".gradle/wrapper/dists/gradle-8/0a1b/gradle-8.zip.lck",
		".local/share/uv/python/cpython-3.12/bin/python3",
	} {
		write(t, filepath.Join(home, name), name)
	}
	l := Config{
		Dirs:    config.Directories{Home: home, Data: filepath.Join(home, "data"), Cache: filepath.Join(home, "cache")},
		Outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	l.Config, l.Project = &config.Config{}, project.Project{Directory: dir}
	cells := New(l)
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(cells.cache, downloads), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(cells.cache, downloads, "b")); err != nil {
		t.Fatal(err)
	}
	if _, err := cells.Open(tool.CellRequest{Mode: session.SandboxWrites}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(downloads, "!a/@v/v1.0.0.zip"): "!a/@v/v1.0.0.zip", "cargo/config.toml": ".cargo/config.toml",
		"gradle/gradle.properties": ".gradle/gradle.properties", "gradle/init.d/a.gradle": ".gradle/init.d/a.gradle",
		"gradle/wrapper/dists/gradle-8/0a1b/gradle-8.zip.ok":  ".gradle/wrapper/dists/gradle-8/0a1b/gradle-8.zip.ok",
		"gradle/wrapper/dists/gradle-8/0a1b/gradle-8.zip.lck": "",
		"dotnet/.nuget/NuGet/NuGet.Config":                    ".nuget/NuGet/NuGet.Config",
		"uv-python/cpython-3.12/bin/python3":                  ".local/share/uv/python/cpython-3.12/bin/python3",
		filepath.Join(downloads, "other/@v/v1.0.0.zip"):       "",
	} {
		if got, _ := os.ReadFile(filepath.Join(cells.cache, name)); string(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside: %v %v", left, err)
	}
}
