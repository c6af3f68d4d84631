package lsp

import "path/filepath"

// languages are LSP's identifiers of languages by extension, or by the name of a file without one, where they are not
// the extension itself.
var languages = map[string]string{
	".bib": "bibtex", ".bibtex": "bibtex", ".clj": "clojure", ".cljs": "clojure", ".cljc": "clojure",
	".edn": "clojure", ".coffee": "coffeescript", ".cxx": "cpp", ".cc": "cpp", ".c++": "cpp", ".h": "c", ".hh": "cpp",
	".hpp": "cpp", ".hxx": "cpp", ".h++": "cpp", ".cs": "csharp", ".csx": "csharp", ".pas": "pascal",
	".patch": "diff", "Dockerfile": "dockerfile", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang",
	".hrl": "erlang", ".ets": "typescript", ".fs": "fsharp", ".fsi": "fsharp", ".fsx": "fsharp",
	".fsscript": "fsharp", ".gitcommit": "git-commit", ".gitrebase": "git-rebase", ".hbs": "handlebars",
	".hs": "haskell", ".lhs": "haskell", ".htm": "html", ".jl": "julia", ".js": "javascript", ".mjs": "javascript",
	".cjs": "javascript", ".jsx": "javascriptreact", ".kt": "kotlin", ".kts": "kotlin", ".tex": "latex",
	"makefile": "makefile", "Makefile": "makefile", ".md": "markdown", ".m": "objective-c", ".mm": "objective-cpp",
	".objc": "objective-c", ".objcpp": "objective-cpp", ".pl": "perl", ".pm": "perl", ".pm6": "perl6",
	".ps1": "powershell", ".psm1": "powershell", ".pug": "jade", ".py": "python", ".pyi": "python",
	".cshtml": "razor", ".rb": "ruby", ".rake": "ruby", ".gemspec": "ruby", ".ru": "ruby", ".rs": "rust",
	".shader": "shaderlab", ".sh": "shellscript", ".bash": "shellscript", ".zsh": "shellscript",
	".ksh": "shellscript", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
	".mtsx": "typescriptreact", ".ctsx": "typescriptreact", ".xsl": "xml", ".yml": "yaml", ".zon": "zig",
	".ml": "ocaml", ".mli": "ocaml.interface", ".tf": "terraform", ".tfvars": "terraform-vars", ".typ": "typst",
	".typc": "typst", ".gql": "graphql",
}

// languageOf returns LSP's identifier of the language of a file.
func languageOf(path string) string {
	ext := extensionOf(path)
	if id := languages[ext]; id != "" {
		return id
	}
	if ext == filepath.Base(path) { // the whole name
		return "plaintext"
	}
	return ext[1:]
}
