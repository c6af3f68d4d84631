package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/trust"
)

// relativeImport matches what a script imports by a relative path, in any of the forms of JavaScript: import, export from,
// import() and require().
var relativeImport = regexp.MustCompile(`(?:from|import|require)\s*\(?\s*["'` + "`" + `](\.{1,2}/[^"'` + "`" + `\n]+)["'` + "`" + `]`)

// maxImports bounds the files that are claimed because scripts import them.
const maxImports = 200

// claimImports adds the files of the project that its plugins and tools import, and those that these import. Paths that a
// script makes when it runs are not found.
func (l *loader) claimImports(c *trust.Claim) {
	var next []string
	for _, f := range c.Files {
		if f.IsRun() {
			next = append(next, f.Path)
		}
	}
	for n := 0; len(next) > 0 && n < maxImports; {
		name := next[0]
		next = next[1:]
		text, err := os.ReadFile(filepath.Join(l.root(), name)) // what cannot be read does not run
		if err != nil {
			continue
		}
		for _, m := range relativeImport.FindAllSubmatch(text, -1) {
			path, inside := l.findImport(name, string(m[1]))
			if !inside {
				continue
			}
			l.addStamp(filepath.Join(l.root(), path))
			if isNew := !c.Has(path); c.AddFile(path, "imported by "+filepath.Base(name)) && isNew {
				next = append(next, path)
				n++
			}
		}
	}
}

// findImport returns the file of the project that a script imports, as Bun and Node find it.
func (l *loader) findImport(script, specifier string) (path string, inside bool) {
	base := filepath.Join(l.root(), filepath.Dir(script), filepath.FromSlash(specifier))
	stem := strings.TrimSuffix(base, filepath.Ext(base)) // TypeScript names a.ts as a.js
	for _, full := range []string{
		base, base + ".ts", base + ".js", base + ".mjs", base + ".json", stem + ".ts", filepath.Join(base, "index.ts"),
		filepath.Join(base, "index.js"),
	} {
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() {
			return l.inProject(full)
		}
	}
	return "", false
}
