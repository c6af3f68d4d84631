package formatter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// row is a built-in formatter: OpenCode's (https://opencode.ai/docs/formatters).
type row struct {
	name       string
	command    []string // $FILE is the path of the file
	extensions string   // separated by spaces
	needs      need
	// runsProject: the program is the project's, or its configuration is code, so that it needs trust.
	runsProject bool
	unless      string   // another formatter that takes its files if it is there
	environment []string // NAME=value, as configured
}

// need is what a project must have for a built-in formatter, besides the program. Any one of files, packages and
// mentions suffices; without any of them nothing is needed. They are looked for in the directory of the location and
// those above it, up to the worktree.
type need struct {
	files    []string // names of files
	packages []string // file and dependency: package.json prettier, composer.json laravel/pint
	mentions []string // file and text that it contains
}

const (
	scriptFiles = ".js .jsx .mjs .cjs .ts .tsx .mts .cts"
	webFiles    = scriptFiles + " .html .htm .css .scss .sass .less .vue .svelte .json .jsonc .yaml .yml .toml .xml" +
		" .md .mdx .graphql .gql"
	rubyFiles = ".rb .rake .gemspec .ru"
)

// rows are tried in this order; all that fit a file run.
var rows = []row{
	{name: "gofmt", command: []string{"gofmt", "-w", "$FILE"}, extensions: ".go"},
	{
		name: "mix", command: []string{"mix", "format", "$FILE"}, extensions: ".ex .exs .eex .heex .leex .neex .sface",
		runsProject: true,
	},
	{
		name: "prettier", command: []string{"prettier", "--write", "$FILE"}, extensions: webFiles, runsProject: true,
		needs: need{packages: []string{"package.json prettier"}},
	},
	{
		name: "oxfmt", command: []string{"oxfmt", "$FILE"}, extensions: scriptFiles, runsProject: true,
		needs: need{packages: []string{"package.json oxfmt"}},
	},
	{
		name: "biome", command: []string{"biome", "format", "--write", "$FILE"}, extensions: webFiles,
		runsProject: true,
		needs:       need{files: []string{"biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"}},
	},
	{name: "zig", command: []string{"zig", "fmt", "$FILE"}, extensions: ".zig .zon"},
	{
		name: "clang-format", command: []string{"clang-format", "-i", "$FILE"},
		extensions: ".c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .ino .C .H",
		needs:      need{files: []string{".clang-format"}},
	},
	{name: "ktlint", command: []string{"ktlint", "-F", "$FILE"}, extensions: ".kt .kts"},
	{
		name: "ruff", command: []string{"ruff", "format", "$FILE"}, extensions: ".py .pyi", needs: need{
			files:    []string{"ruff.toml", ".ruff.toml"},
			mentions: []string{"pyproject.toml ruff", "requirements.txt ruff", "Pipfile ruff"},
		},
	},
	{name: "uv", command: []string{"uv", "format", "--", "$FILE"}, extensions: ".py .pyi", unless: "ruff"},
	{name: "air", command: []string{"air", "format", "$FILE"}, extensions: ".R"},
	{name: "rubocop", command: []string{"rubocop", "--autocorrect", "$FILE"}, extensions: rubyFiles, runsProject: true},
	{name: "standardrb", command: []string{"standardrb", "--fix", "$FILE"}, extensions: rubyFiles, runsProject: true},
	{name: "htmlbeautifier", command: []string{"htmlbeautifier", "$FILE"}, extensions: ".erb .html.erb"},
	{name: "dart", command: []string{"dart", "format", "$FILE"}, extensions: ".dart"},
	{
		name: "ocamlformat", command: []string{"ocamlformat", "-i", "$FILE"}, extensions: ".ml .mli",
		needs: need{files: []string{".ocamlformat"}},
	},
	{name: "terraform", command: []string{"terraform", "fmt", "$FILE"}, extensions: ".tf .tfvars"},
	{name: "latexindent", command: []string{"latexindent", "-w", "-s", "$FILE"}, extensions: ".tex"},
	{name: "gleam", command: []string{"gleam", "format", "$FILE"}, extensions: ".gleam"},
	{name: "shfmt", command: []string{"shfmt", "-w", "$FILE"}, extensions: ".sh .bash"},
	{name: "nixfmt", command: []string{"nixfmt", "$FILE"}, extensions: ".nix"},
	{name: "rustfmt", command: []string{"rustfmt", "$FILE"}, extensions: ".rs"},
	{
		name: "pint", command: []string{"vendor/bin/pint", "$FILE"}, extensions: ".php", runsProject: true,
		needs: need{packages: []string{"composer.json laravel/pint"}},
	},
	{name: "ormolu", command: []string{"ormolu", "-i", "$FILE"}, extensions: ".hs"},
	{name: "cljfmt", command: []string{"cljfmt", "fix", "--quiet", "$FILE"}, extensions: ".clj .cljs .cljc .edn"},
	{name: "dfmt", command: []string{"dfmt", "-i", "$FILE"}, extensions: ".d"},
}

// isMet reports whether one of the directories has what a formatter needs.
func (n need) isMet(dirs []string) bool {
	if len(n.files)+len(n.packages)+len(n.mentions) == 0 {
		return true
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		hasFile := func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}
		hasPackage := func(entry string) bool {
			file, name, _ := strings.Cut(entry, " ")
			return dependsOn(readBounded(filepath.Join(dir, file)), name)
		}
		mentions := func(entry string) bool {
			file, text, _ := strings.Cut(entry, " ")
			return strings.Contains(string(readBounded(filepath.Join(dir, file))), text)
		}
		return slices.ContainsFunc(n.files, hasFile) || slices.ContainsFunc(n.packages, hasPackage) ||
			slices.ContainsFunc(n.mentions, mentions)
	})
}

// dependsOn reports whether a package.json or composer.json names the package as a dependency.
func dependsOn(text []byte, name string) bool {
	var file struct {
		Dependencies    map[string]any `json:"dependencies"`
		DevDependencies map[string]any `json:"devDependencies"`
		Require         map[string]any `json:"require"`
		RequireDev      map[string]any `json:"require-dev"`
	}
	if json.Unmarshal(text, &file) != nil {
		return false
	}
	for _, list := range []map[string]any{file.Dependencies, file.DevDependencies, file.Require, file.RequireDev} {
		if _, ok := list[name]; ok {
			return true
		}
	}
	return false
}

// maxProjectFile bounds the files of a project that are read to find its formatters.
const maxProjectFile = 1 << 20

// readBounded returns the content of a regular file, nil if it has none or is too large.
func readBounded(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxProjectFile {
		return nil
	}
	text, _ := os.ReadFile(path) // it may have gone meanwhile
	return text
}
