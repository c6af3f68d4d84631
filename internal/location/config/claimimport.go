package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/trust"
)

// relativeImport matches what a script imports by a relative path, in any of the forms of JavaScript: import, export from,
// import() and require().
var relativeImport = regexp.MustCompile(
	`(?:from|import|require)\s*\(?\s*["'` + "`" + `](\.{1,2}(?:/[^"'` + "`" + `\n]*)?)["'` + "`" + `]`,
)

// maxImports bounds the files that are claimed because scripts import them. A claim with more cannot be trusted.
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
	for n := 0; len(next) > 0; next = next[1:] {
		name := next[0]
		text, err := c.Read(name)
		if err != nil {
			continue // the claim is not that of the files as they are now: trust.Claim.Verify keeps them from running
		}
		for _, m := range relativeImport.FindAllSubmatch(text, -1) {
			for _, path := range l.findImports(c, name, string(m[1])) {
				if !c.AddImport(path, name) {
					continue
				}
				next = append(next, path)
				if n++; n > maxImports {
					c.SetProblem(name, fmt.Sprintf("and other scripts import more than %d files: make them a package", maxImports))
					return
				}
			}
		}
	}
}

// importExtensions are what Bun adds to the path of an import, in any order.
var importExtensions = []string{".tsx", ".jsx", ".ts", ".mjs", ".js", ".cjs", ".mts", ".cts", ".json"}

// findImports returns the files of the project that an import of a script may mean, and notes in the claim those that it
// would mean if they existed. Which one Bun or Node takes depends on their rules: all are claimed.
func (l *loader) findImports(c *trust.Claim, script, specifier string) (found []string) {
	specifier, _, _ = strings.Cut(specifier, "?")
	full := filepath.Join(l.root(), script)
	dirs := []string{filepath.Dir(full)}
	if real, err := filepath.EvalSymlinks(full); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	for _, dir := range dirs {
		for _, candidate := range listCandidates(filepath.Join(dir, filepath.FromSlash(specifier))) {
			path, inside := l.inProject(candidate)
			if !inside {
				continue
			}
			l.addStamp(candidate)
			info, err := os.Stat(candidate)
			switch {
			case errors.Is(err, fs.ErrNotExist) && !slices.Contains(c.Absent, path):
				c.Absent = append(c.Absent, path)
			case err != nil || !info.Mode().IsRegular():
			case filepath.Base(candidate) == "package.json" && filepath.Base(specifier) != "package.json":
				c.SetProblem(path, "chooses the file of an import of "+script+": import the file itself")
			default:
				found = append(found, path)
			}
		}
	}
	return found
}

// listCandidates returns the paths that an import of a path may mean: itself alone, if it is a file.
func listCandidates(path string) []string {
	out := []string{path}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return out
	}
	stems := []string{path, filepath.Join(path, "index")}
	switch ext := filepath.Ext(path); ext {
	case ".js", ".jsx", ".mjs", ".cjs": // as which TypeScript names its files
		stems = append(stems, strings.TrimSuffix(path, ext))
	}
	for _, stem := range stems {
		for _, ext := range importExtensions {
			out = append(out, stem+ext)
		}
	}
	return append(out, filepath.Join(path, "package.json"))
}
