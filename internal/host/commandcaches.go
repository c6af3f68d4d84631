package host

import (
	"os"
	"path/filepath"
	"strings"
)

// cacheVariables name the folders below a project's cache that programs use which do not follow XDG_CACHE_HOME. With
// GOPATH, go keeps what it knows of the checksum database there as well; without that it adds no module.
var cacheVariables = map[string]string{
	"GOPATH": "go", "GOMODCACHE": filepath.Join("go", "pkg", "mod"), "npm_config_cache": "npm", "CARGO_HOME": "cargo",
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

// linkCargoSettings links the user's settings and credentials of cargo, which it reads in CARGO_HOME only.
func linkCargoSettings(userHome string, cache *os.Root) {
	for _, name := range []string{"config.toml", "config", "credentials.toml", "credentials"} {
		source := filepath.Join(userHome, ".cargo", name)
		if _, err := os.Stat(source); err != nil {
			continue
		}
		if err := cache.MkdirAll(cacheVariables["CARGO_HOME"], 0o700); err == nil {
			_ = cache.Symlink(source, filepath.Join(cacheVariables["CARGO_HOME"], name))
		}
	}
}

// fillCache links what the caches and settings below home have for the projects in dirs into the folder cache.
func fillCache(cache, home string, dirs []string) {
	root, err := os.OpenRoot(cache)
	if err != nil || home == "" {
		return
	}
	defer func() { _ = root.Close() }()
	linkCargoSettings(home, root)
	for _, dir := range dirs {
		linkModules(dir, filepath.Join(home, "go", "pkg", "mod"), root)
	}
}
