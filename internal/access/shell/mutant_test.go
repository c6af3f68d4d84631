//go:build linux

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// mutant is a recogniser that misreads one thing: in each file the first text is replaced by the second.
type mutant struct {
	name  string
	edits []edit
}

type edit struct{ file, old, new string }

// alone disables the second reader, so that a mutant is on its own.
var alone = edit{
	"crosscheck.go",
	"syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), \"\")",
	`(*syntax.File)(nil), error(nil)
	if file == nil {
		return -1
	}`,
}

var mutants = []mutant{
	{"comment within a word", []edit{{"word_reader.go", "\" \\t\\n;&|<>\"", "\" \\t\\n;&|<>#\""}}},
	{
		"comment to the end of the text",
		[]edit{{"recognise.go", `if i := strings.IndexByte(r.text[r.at:], '\n'); i >= 0 {`, `if i := 0; i > 0 {`}},
	},
	{
		"expansion is text",
		[]edit{{"word_reader.go", "	case '$':\n		return r.refuseVariable()\n", "	case 1:\n		return r.refuseVariable()\n"}},
	},
	{
		"backquote in double quotes",
		[]edit{
			{
				"word_reader.go",
				"		case c == '`':\n			return r.refuseAt(r.at, \"a command substitution with `\", adviceSplit)\n		case c == '$'",
				"		case c == '$'",
			},
		},
	},
	{
		"backslash in double quotes",
		[]edit{{"word_reader.go", `if next != '"' && next != '\\' {`, "if false {"}},
	},
	{
		"continuation in double quotes",
		[]edit{{"word_reader.go", "if next < ' ' || next > '~' || next == '`'", "if next == '`'"}},
	},
	{
		"backslash outside of quotes",
		[]edit{
			{"word_reader.go", "b.addLiteral(r.peekByte(1))", "b.addLiteral('\\\\')\n\t\tb.addLiteral(r.peekByte(1))"},
		},
	},
	{
		"variable in double quotes is text",
		[]edit{{"word_reader.go", "		case c == '$':\n", "		case false:\n"}},
	},
	{"braces", []edit{{"word_reader.go", `inner != "" && !isDigits(inner)`, "false"}}},
	{
		"tilde is text",
		[]edit{
			{
				"word_reader.go",
				`if r.at == start || !isNameByte(r.text[r.at-1]) && strings.IndexByte("^@.-/}", r.text[r.at-1]) < 0 {`,
				"if false {",
			},
		},
	},
	{"globs", []edit{{"word_reader.go", "case '*', '?':", "case 1:"}}},
	{"brackets", []edit{{"word_reader.go", "case c == '[' && !r.isBracketWord(start):", "case false:"}}},
	{
		"empty word",
		[]edit{
			{
				"recognise.go",
				"	if len(c.Words) > 0 {\n",
				"	if len(c.Words) > 0 && w.Text == \"\" {\n\t\treturn nil\n\t}\n	if len(c.Words) > 0 {\n",
			},
		},
	},
	{"ampersand in a word", []edit{{"word_reader.go", "\" \\t\\n;&|<>\"", "\" \\t\\n;|<>\""}}},
	{"newline is a blank", []edit{{"scanner.go", `c == ' ' || c == '\t'`, `c == ' ' || c == '\t' || c == '\n'`}}},
	{"carriage return is a blank", []edit{
		{"scanner.go", `c == ' ' || c == '\t'`, `c == ' ' || c == '\t' || c == '\r'`},
		{"recognise.go", `c != '\n' && c != '\t'`, `c != '\n' && c != '\t' && c != '\r'`},
		{"word_reader.go", "\" \\t\\n;&|<>\"", "\" \\t\\n\\r;&|<>\""},
	}},
	{"keywords", []edit{{"recognise.go", "if isReserved(w.Text) {", "if false {"}}},
	{"assignment is a command", []edit{{"recognise.go", `name != "" {`, "false && name != \"\" {"}}},
	{"jobs", []edit{{"recognise.go", `strings.IndexByte("%-+", w.Text[0]) >= 0`, "false"}}},
	{"empty command", []edit{{"recognise.go", `case ";;", ";&":`, `case ";&":`}}},
	{"operator at the end", []edit{{"recognise.go", "if needs && r.at == len(r.text) {", "if needs && r.at < 0 {"}}},
	{"read and write", []edit{
		{"recognise.go", `case strings.HasPrefix(rest, "<>"),`, "case false,"},
		{
			"recognise.go",
			"	r.at += len(operator)\n",
			"	r.at += len(operator)\n	if strings.HasPrefix(rest, \"<>\") {\n		r.at++\n	}\n",
		},
	}},
	{"descriptors", []edit{{"recognise.go", `if w.Source != "1" && w.Source != "2" {`, "if false {"}}},
	{
		"quoted descriptor",
		[]edit{{"recognise.go", `if w.Source != "1" && w.Source != "2" {`, `if w.Text != "1" && w.Text != "2" {`}},
	},
	{"no descriptor", []edit{{"recognise.go", "if isDigits(w.Text) &&", "if false &&"}}},
	{"descriptor as a target", []edit{{"recognise.go", "isDigits(w.Source) && (next", "false && (next"}}},
	{
		"text behind >&2",
		[]edit{{"recognise.go", `len(rest) > 3 && strings.IndexByte(" \t\n;&|", rest[3]) < 0`, "false"}},
	},
	{
		"append truncates",
		[]edit{{"recognise.go", "Operator: descriptor + operator,", "Operator: descriptor + operator[:1],"}},
	},
}

// hunted is set in the process that tests a mutant: the first fault ends it.
const hunted = "CAIRN_MUTANT"

// TestDifferential finds every mutant, with the figure of CI. A run tries a quarter of them, another one whenever the
// package changes; with CAIRN_SOAK it tries all.
func TestMutatedRecognisers(t *testing.T) {
	if os.Getenv("CAIRN_MUTANTS")+os.Getenv("CAIRN_SOAK") == "" {
		t.Skip("set CAIRN_MUTANTS=1, as make crash does: this builds the package for each mutant")
	}
	var group sync.WaitGroup
	lanes := make(chan struct{}, 2)
	shift := hashSources(t)
	for i, m := range mutants {
		if os.Getenv("CAIRN_SOAK") == "" && (uint32(i)+shift)%4 != 0 {
			continue
		}
		dir := t.TempDir()
		overlay, err := m.write(dir)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		group.Go(func() {
			lanes <- struct{}{}
			defer func() { <-lanes }()
			begun := time.Now()
			out, err := testWith(t.Context(), overlay)
			_, found, ok := strings.Cut(out, "misread: ")
			found, _, _ = strings.Cut(found, "\n")
			switch took := time.Since(begun).Round(time.Millisecond); {
			case err == nil:
				t.Errorf("%s was not found in %v", m.name, took)
			case !ok:
				t.Errorf("%s: %v: %s", m.name, err, out)
			default:
				t.Logf("%s: %v: %s", m.name, took, found)
			}
		})
	}
	group.Wait()
}

// hashSources returns a hash of the sources of the package and of its tests.
func hashSources(t *testing.T) uint32 {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New32a()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = h.Write(text) // never fails
	}
	return h.Sum32()
}

// write writes the mutant's files to the directory and returns the overlay for go test.
func (m mutant) write(dir string) (overlay string, err error) {
	contents, replace := map[string]string{}, map[string]string{}
	for _, e := range append([]edit{alone}, m.edits...) {
		path, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		if contents[path] == "" {
			source, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			contents[path] = string(source)
		}
		if strings.Count(contents[path], e.old) != 1 {
			return "", fmt.Errorf("%s contains %q %d times", e.file, e.old, strings.Count(contents[path], e.old))
		}
		contents[path] = strings.Replace(contents[path], e.old, e.new, 1)
		replace[path] = filepath.Join(dir, e.file)
	}
	for path, content := range contents {
		if err := os.WriteFile(replace[path], []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(err, os.WriteFile(overlay, list, 0o600))
}

// testWith runs TestDifferential with other sources.
func testWith(ctx context.Context, overlay string) (string, error) {
	cmd := exec.CommandContext(
		ctx,
		"go",
		"test",
		"-vet=off",
		"-count=1",
		"-overlay="+overlay,
		"-run=^TestDifferential$",
		".",
	)
	cmd.Env = append(os.Environ(), hunted+"=1", "CAIRN_SOAK=", "CAIRN_MUTANTS=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
