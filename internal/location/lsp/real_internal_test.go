package lsp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// realServers is the variable with the directory of real servers: gopls and node_modules/.bin as npm installs it.
const realServers = "CAIRN_TEST_LSP"

// TestRealServers edits a file of each language with the servers of CAIRN_TEST_LSP, and asks them.
func TestRealServers(t *testing.T) {
	dir := os.Getenv(realServers)
	if dir == "" {
		t.Skip("set " + realServers + " to a directory with gopls, and npm5 and npm7 with node_modules")
	}
	for _, test := range []struct {
		name, npm     string
		files         map[string]string
		changed       string // the first file of files
		broken, fixed string
		other         string // a file that broken breaks as well
		wants         string
		query         Query
		found         string
	}{
		{
			name: "gopls", changed: "a.go",
			files: map[string]string{
				"go.mod": "module example.org/a\n\ngo 1.26\n",
				"a.go":   "package a\n\n// F is a function.\nfunc F() int { return 1 }\n",
				"b.go":   "package a\n\nvar _ = F()\n",
			},
			broken: "package a\n\n// G is a function.\nfunc G() int { return \"é\" }\n",
			fixed:  "package a\n\n// F is a function.\nfunc F() int { return 2 }\n",
			other:  "b.go", wants: "[4:23] cannot use", query: Query{Operation: "hover", Position: Position{3, 5}},
			found: "F is a function",
		},
		{
			name: "typescript5", npm: "npm5", changed: "a.ts",
			files: map[string]string{
				"package.json": "{}\n", "tsconfig.json": `{"compilerOptions":{"strict":true}}`,
				"a.ts": "export function f(): number { return 1 }\n",
				"b.ts": "import { f } from './a'\nexport const x: number = f()\n",
			},
			broken: "export function g(): number { return '😀' }\n", fixed: "export function f(): number { return 2 }\n",
			wants: "[1:31] Type 'string' is not assignable", query: Query{Operation: "findReferences", Position: Position{0, 16}},
			found: "b.ts",
		},
		{
			name: "typescript7", npm: "npm7", changed: "a.ts",
			files: map[string]string{
				"package.json": "{}\n", "tsconfig.json": `{"compilerOptions":{"strict":true}}`,
				"a.ts": "export function f(): number { return 1 }\n",
				"b.ts": "import { f } from './a'\nexport const x: number = f()\n",
			},
			broken: "export function g(): number { return '😀' }\n", fixed: "export function f(): number { return 2 }\n",
			wants: "[1:31] Type 'string' is not assignable", query: Query{Operation: "findReferences", Position: Position{0, 16}},
			found: "b.ts",
		},
		{
			name: "pyright", npm: "npm5", changed: "a.py",
			files: map[string]string{
				"pyproject.toml": "", "a.py": "def f() -> int:\n    return 1\n", "b.py": "from a import f\nx: int = f()\n",
			},
			broken: "def g() -> int:\n    return '😀'\n", fixed: "def f() -> int:\n    return 2\n",
			wants: "[2:12] Type", query: Query{Operation: "documentSymbol"}, found: `"f"`,
		},
		{
			name: "bash", npm: "npm5", changed: "a.sh",
			files:  map[string]string{"a.sh": "#!/bin/bash\nf() { echo 1; }\nf\n"},
			broken: "#!/bin/bash\nf() { echo 1; \nif\n", fixed: "#!/bin/bash\nf() { echo 2; }\nf\n",
			query: Query{Operation: "documentSymbol"}, found: `"f"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write := func(name, content string) {
				if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for name, content := range test.files {
				write(name, content)
			}
			path := os.Getenv("PATH") + string(filepath.ListSeparator) + dir
			if test.npm != "" {
				if err := os.Symlink(filepath.Join(dir, test.npm, "node_modules"), filepath.Join(root, "node_modules")); err != nil {
					t.Fatal(err)
				}
			}
			servers, _ := Select(config.LanguageServers{})
			m := New(Options{
				Directory: root, Servers: servers, Trusted: true,
				Environment: process.Environment{Set: []string{"PATH=" + path}},
			})
			defer m.Close()
			changed := filepath.Join(root, test.changed)
			diagnose := func(what string, bound time.Duration) Report {
				began := time.Now()
				r := m.Diagnose(t.Context(), []string{changed}, bound)
				t.Logf("%s after %v: unanswered %v%s", what, time.Since(began), r.Unanswered, r.Format(nil))
				return r
			}
			if r := diagnose("start", time.Minute); len(r.Changed)+len(r.Broken) > 0 {
				t.Error("errors in correct files")
			}
			write(test.changed, test.broken)
			r := diagnose("broken", 20*time.Second)
			if text := r.Format(nil); !strings.Contains(text, test.wants) {
				t.Errorf("%q is not in the report", test.wants)
			}
			if test.other != "" && !strings.Contains(r.Format(nil), test.other) {
				t.Errorf("%s is not reported as broken", test.other)
			}
			write(test.changed, test.fixed)
			if r := diagnose("fixed", 20*time.Second); len(r.Changed)+len(r.Broken) > 0 {
				t.Error("errors in correct files")
			}
			for range 3 {
				write(test.changed, test.broken)
				diagnose("broken again", DefaultBound)
				write(test.changed, test.fixed)
				diagnose("fixed again", DefaultBound)
			}
			test.query.Path = changed
			began := time.Now()
			results, err := m.Ask(t.Context(), test.query)
			t.Logf("%s after %v: %.300s %v", test.query.Operation, time.Since(began), results, err)
			if err != nil || !strings.Contains(string(encode(results)), test.found) {
				t.Errorf("%q is not in the results", test.found)
			}
			t.Log(m.Status())
			if out, err := exec.Command("ps", "-eo", "rss,args", "--sort=-rss").Output(); err == nil {
				for line := range strings.Lines(string(out)) {
					if strings.Contains(line, dir) || strings.Contains(line, root) {
						t.Logf("%.150s", line)
					}
				}
			}
		})
	}
}
