package script

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fileFrom numbers the lines of text as the read tool does.
func fileFrom(name, text string) file {
	f := file{path: name, whole: true}
	for i, l := range strings.Split(text, "\n") {
		f.lines = append(f.lines, line{i + 1, l})
	}
	return f
}

func TestReadme(t *testing.T) {
	tests := []struct{ name, in, title, para string }{
		{"markdown", "# A `b` #\n\nOne [two](x)\nthree.\n\nFour.", "A `b`", "One two three."},
		{"setext", "Name\n====\n\nWhat it is.", "Name", "What it is."},
		{"html and badges", "<h1 align=\"center\">Name</h1>\n<p><img src=x></p>\n[![b](u)](v) ![c](d)\n\nWhat.", "Name", "What."},
		{"asciidoc", "= Name\n\nWhat.", "Name", "What."},
		{"quote", "# N\n> What.", "N", "What."},
		{"code first", "# N\n```\ncode\n```\nWhat.", "N", "What."},
		{"no title", "What.\n# Later\nMore.", "", "What."},
		{"only headings", "# N\n## M", "N", ""},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		title, para := readme(fileFrom("README.md", tt.in))
		if title.text != tt.title || para.text != tt.para {
			t.Errorf("%s: got %q, %q", tt.name, title.text, para.text)
		}
	}
	if title, para := readme(fileFrom("a.go", "# x\ny")); title.text+para.text != "" {
		t.Errorf("a source file was read as a README: %q %q", title.text, para.text)
	}
}

func TestLeadingComment(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"go", "// Copyright x.\n// Licensed under y.\n\n//go:build linux\n\n// Package a does b. More.\npackage a", "Package a does b. More."},
		{"sentence", "// Package longname does something. More.\npackage a", "Package longname does something."},
		{"after package", "package a\n\n// A does b.\nfunc A", "A does b."},
		{"python", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\"\"\"Does a.\n\nMore.\n\"\"\"\nimport x", "Does a."},
		{"one line docstring", "'''Does a.'''\nx = 1\n# not this", "Does a."},
		{"block", "/**\n * Does a\n * and b.\n */\nx", "Does a and b."},
		{"block without stars", "/*\nDoes a.\n*/\nx", "Does a."},
		{"code first", "import x\n# later\n", ""},
		{"sql", "-- Does a.\nselect 1", "Does a."},
		{"none", "x = 1", ""},
	}
	for _, tt := range tests {
		if got := leadingComment(fileFrom("a", tt.in).lines); got.text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got.text, tt.want)
		}
	}
}

func TestHowToRun(t *testing.T) {
	tests := []struct{ in, want string }{
		{"# N\n```js\nx\n```\n## Usage\ntext\n```\nrun it\n```", "run it"},
		{"# N\n```sh\nshell\n```\n## API\n```\nx\n```", "shell"},
		{"# N\n```js\nx\n```", ""},
		{"## Run\n```\nnever closed", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, l := range howToRun(fileFrom("README.md", tt.in)) {
			got = append(got, l.text)
		}
		if s := strings.Join(got, "\n"); s != tt.want {
			t.Errorf("%q: got %q", tt.in, s)
		}
	}
}

func TestManifestFacts(t *testing.T) {
	tests := []struct {
		name, in string
		want     []fact
	}{
		{"Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\nname = \"b\"", []fact{{`name = "a"`, 2}}},
		{"pyproject.toml", "[project]\ndescription = \"d\"\n[project.scripts]\nrun = \"a:b\"", []fact{{`description = "d"`, 2}, {`project.scripts: run = "a:b"`, 4}}},
		{"Makefile", "X := 1\n.PHONY: all\nall: b\n\tcc\nb:\n", []fact{{"targets: all, b", 0}}},
		{"package.json", "{\n\t\"name\": \"a\",\n\t\"scripts\": {\"b\": \"c\"}\n}", []fact{{`"name": "a"`, 2}, {"scripts: b", 0}}},
		{"package.json", "{\n  \"name\": \"cut", []fact{{`"name": "cut`, 2}}},
		{"pom.xml", "<project>\n  <artifactId>a</artifactId>", []fact{{"<artifactId>a</artifactId>", 2}}},
		{"go.mod", "module a\ngo 1.26\nrequire b v1.0.0\nexclude c v1.0.0", []fact{{"module a", 1}, {"go 1.26", 2}, {"1 direct dependency", 0}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, manifestFacts(fileFrom(tt.name, tt.in)), cmp.AllowUnexported(fact{})); diff != "" {
			t.Errorf("%s %q:\n%s", tt.name, tt.in, diff)
		}
	}
}
