package cell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// cacheVariables name the folders below a project's cache that programs use which do not follow XDG_CACHE_HOME, or
// which a user can have set to another one. With GOPATH, go keeps what it knows of the checksum database there as well;
// without that it adds no module. Variables that move settings have links to the user's in userLinks.
var cacheVariables = map[string]string{
	"GOPATH": "go", "GOMODCACHE": filepath.Join("go", "pkg", "mod"),
	"npm_config_cache": "npm", "PNPM_HOME": "pnpm", "YARN_GLOBAL_FOLDER": "yarn", "BUN_INSTALL_CACHE_DIR": "bun",
	"DENO_DIR":      "deno",
	"PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "UV_PYTHON_INSTALL_DIR": "uv-python", "POETRY_CACHE_DIR": "pypoetry",
	"POETRY_VIRTUALENVS_PATH": filepath.Join("pypoetry", "virtualenvs"), "PIPENV_CACHE_DIR": "pipenv",
	"WORKON_HOME": "virtualenvs",
	"CARGO_HOME":  "cargo",
	"GEM_HOME":    "gem", "GEM_SPEC_CACHE": "gem-specs", "BUNDLE_USER_CACHE": "bundle",
	"BUNDLE_USER_PLUGIN": "bundle-plugins",
	"COMPOSER_CACHE_DIR": "composer",
	"MAVEN_USER_HOME":    "maven", "GRADLE_USER_HOME": "gradle",
	"DOTNET_CLI_HOME": "dotnet", "NUGET_PACKAGES": filepath.Join("nuget", "packages"),
	"NUGET_HTTP_CACHE_PATH":    filepath.Join("nuget", "http"),
	"NUGET_PLUGINS_CACHE_PATH": filepath.Join("nuget", "plugins"),
}

// userLink names files of the home directory that programs look for in a folder of the cache. They keep their paths
// below it.
type userLink struct{ home, pattern, cache string }

var userLinks = []userLink{
	{".cargo", "config.toml", "cargo"},
	{".cargo", "config", "cargo"},
	{".cargo", "credentials.toml", "cargo"},
	{".cargo", "credentials", "cargo"},
	{".gradle", "gradle.properties", "gradle"},
	{".gradle", "init.gradle", "gradle"},
	{".gradle", "init.gradle.kts", "gradle"},
	{".gradle", "init.d", "gradle"},
	{".gradle", "jdks/*", "gradle"},
	{".gradle", "wrapper/dists/*/*/*", "gradle"}, // the wrapper writes its lock beside them
	{".m2", "wrapper/dists/*/*", "maven"},
	{".nuget", "NuGet/*", "dotnet/.nuget"},
	{".local/share/uv/python", "*", "uv-python"},
}

// listCacheVariables returns the environment of commands whose project has the folder cache.
func listCacheVariables(cache, home, scratch string) (env []string) {
	for name, dir := range cacheVariables {
		env = append(env, name+"="+filepath.Join(cache, dir))
	}
	downloads := filepath.Join(home, ".gradle", "caches")
	if _, err := os.Stat(filepath.Join(downloads, "modules-2")); home != "" && err == nil {
		env = append(env, "GRADLE_RO_DEP_CACHE="+downloads)
	}
	// Java does not follow TMPDIR, and Maven has no variable of its own for its repository. Since 3.9 it reads the user's
	// as well. The scripts that start the two split the values at blanks.
	if !strings.ContainsAny(cache+home+scratch, " \t\"'$`\\") {
		env = append(env, "GRADLE_OPTS=-Djava.io.tmpdir="+scratch, "MAVEN_OPTS=-Djava.io.tmpdir="+scratch+
			" -Dmaven.repo.local="+filepath.Join(cache, "maven", "repository")+
			" -Dmaven.repo.local.tail="+filepath.Join(home, ".m2", "repository"))
	}
	return env
}

// linkModules links the downloads of the modules in dir's go.sum from the user's module cache into the project's, so
// that go downloads none again. Commands cannot change the targets. The cache is an os.Root, because commands may have
// left links in it. What cannot be linked is downloaded.
func linkModules(dir, userCache string, cache *os.Root) {
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(sums)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		version := strings.TrimSuffix(fields[1], "/go.mod")
		name := filepath.Join("cache", "download", escapeModule(fields[0]), "@v", escapeModule(version))
		if !filepath.IsLocal(name) {
			continue
		}
		for _, kind := range []string{".info", ".mod", ".zip", ".ziphash"} {
			source := filepath.Join(userCache, name+kind)
			if _, err := os.Stat(source); err != nil {
				continue
			}
			link := filepath.Join(cacheVariables["GOMODCACHE"], name+kind)
			if err := cache.MkdirAll(filepath.Dir(link), 0o700); err == nil {
				_ = cache.Symlink(source, link) // usually it exists
			}
		}
	}
}

// escapeModule returns a module path or version as file names have it: A as !a.
func escapeModule(s string) string {
	var b strings.Builder
	for _, r := range s {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// linkUserFiles links the user's files that programs look for in the cache: settings and credentials, which commands
// cannot change there either, and programs that were downloaded before.
func linkUserFiles(userHome string, cache *os.Root) {
	for _, l := range userLinks {
		from := filepath.Join(userHome, filepath.FromSlash(l.home))
		found, err := filepath.Glob(filepath.Join(from, filepath.FromSlash(l.pattern)))
		if err != nil {
			continue
		}
		for _, source := range found[:min(len(found), maxUserLinks)] {
			rel, err := filepath.Rel(from, source)
			if err != nil || strings.HasSuffix(rel, ".lck") {
				continue
			}
			link := filepath.Join(filepath.FromSlash(l.cache), rel)
			if err := cache.MkdirAll(filepath.Dir(link), 0o700); err == nil {
				_ = cache.Symlink(source, link) // usually it exists
			}
		}
	}
}

// maxUserLinks bounds the links of a pattern.
const maxUserLinks = 200

// fillCache links what the caches and settings below home have for the projects in dirs into the folder cache.
func fillCache(cache, home string, dirs []string) {
	root, err := os.OpenRoot(cache)
	if err != nil || home == "" {
		return
	}
	defer func() { _ = root.Close() }()
	linkUserFiles(home, root)
	for _, dir := range dirs {
		linkModules(dir, filepath.Join(home, "go", "pkg", "mod"), root)
	}
}

// cacheAge is the retention of the caches of a project's commands after their last use.
const cacheAge = 30 * 24 * time.Hour

// RemoveUnusedCaches removes the caches of projects without a command since cacheAge. Programs make some directories of
// caches read-only.
func RemoveUnusedCaches(dirs config.Directories, now time.Time) (err error) {
	dir := cachesDir(dirs)
	entries, _ := os.ReadDir(dir) // missing before the first command
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil || now.Sub(info.ModTime()) < cacheAge {
			continue
		}
		path := filepath.Join(dir, e.Name())
		_ = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_ = os.Chmod(name, 0o700) //nolint:gosec // else its files cannot be removed
			}
			return nil
		})
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
