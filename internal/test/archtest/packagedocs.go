package archtest

import "path"

// checkPackageDocs: each package has one doc comment, in the file of its own name.
func checkPackageDocs(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.isTestOnly() {
			continue
		}
		home := path.Join(p.Dir, path.Base(p.Dir)+".go")
		if p.Dir == "." {
			home = "main.go"
		}
		has := false
		for _, f := range p.Files {
			if f.AST.Doc == nil || f.Test {
				continue
			}
			has = has || f.Path == home
			if f.Path != home {
				out = append(out, newFinding(f.Path, "a package has one doc comment, in the file of its own name: %s", home))
			}
		}
		if !has {
			out = append(out, newFinding(p.Name, "has no package doc; write its contract in %s", home))
		}
	}
	return out
}
