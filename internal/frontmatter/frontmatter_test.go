package frontmatter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show writes a value as JSON, each member with its line.
func show(v Value) string {
	switch v.Kind {
	case '{':
		var parts []string
		for _, m := range v.Members {
			parts = append(parts, fmt.Sprintf("%s@%d:%s", m.Key, m.Line, show(m.Value)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case '[':
		var parts []string
		for _, item := range v.Items {
			parts = append(parts, show(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		return string(v.JSON)
	}
}

func TestRead(t *testing.T) {
	tests := []struct{ name, text, fields, body string }{
		{"nothing", "", "{}", "1 "},
		{"no frontmatter", "\n\nJust text.\n", "{}", "3 Just text."},
		{
			"fields and a body",
			"---\nmodel: a/b\nsteps: 3\n---\n\nDo it.\n\nWell.\n",
			`{model@2:"a/b",steps@3:3}`,
			"6 Do it.\n\nWell.",
		},
		{"windows", "---\r\na: b\r\n---\r\ntext\r\n", `{a@2:"b"}`, "4 text"},
		{"every kind", "---\na: {b: [1, true, null, 0.5, x]}\n---", `{a@2:{b@2:[1,true,null,0.5,"x"]}}`, "1 "},
		{
			"order is kept",
			"---\npermission:\n  bash:\n    '*': ask\n    git *: allow\n---",
			`{permission@2:{bash@3:{*@4:"ask",git *@5:"allow"}}}`,
			"1 ",
		},
		{"empty frontmatter", "---\n---\nx", "{}", "3 x"},
		{"an end that never comes", "---\na: b\n", "{}", "1 ---\na: b"},
		{"a line in the middle", "text\n---\na: b\n---\n", "{}", "1 text\n---\na: b\n---"},
		{
			"a colon in text",
			"---\ndescription: Use this: when needed\nmode: primary\n---\nx",
			`{description@2:"Use this: when needed",mode@3:"primary"}`,
			"5 x",
		},
		{"a mention", "---\ndescription: @build does it\n---", `{description@2:"@build does it"}`, "1 "},
		{"a date is text", "---\na: 2024-01-01\n---", `{a@2:"2024-01-01"}`, "1 "},
		{"not a number", "---\na: .nan\n---", `{a@2:".nan"}`, "1 "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Read([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.fields, show(f.Fields)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.body, fmt.Sprintf("%d %s", f.BodyLine, f.Body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x 1\nb: *x":            "line 2: anchors and aliases are not supported",
		"a: !!python/object x":      "line 2: tags are not supported",
		"[1]: 2":                    "line 2: a key is not text",
		"- a":                       "line 2: it is not YAML",
		"a: [1\nb: {":               "line 2: it is not YAML",
		"a: " + nest(maxDepth+2):    "line 2: it is nested too deeply",
		strings.Repeat("#x\n", 3e4): "line 1: the frontmatter is longer than 65536 bytes",
	} {
		_, err := Read([]byte("---\n" + text + "\n---\nbody"))
		if err == nil || err.Error() != want {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
}

// TestRepeatedKey: the last value of a repeated key counts, the other keys are kept, and the repetition is reported.
func TestRepeatedKey(t *testing.T) {
	f, err := Read([]byte("---\na: 1\nb: {c: x, c: y}\na: 2\n---\nbody"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.Fields.Get("a")
	b, _ := f.Fields.Get("b")
	c, _ := b.Get("c")
	if string(a.JSON) != "2" || c.Text != "y" || len(f.Fields.Members) != 2 {
		t.Errorf("%+v", f.Fields)
	}
	if r := f.Fields.Repeated; len(r) != 1 || r[0].Key != "a" || r[0].Line != 4 || len(b.Repeated) != 1 {
		t.Errorf("repeated: %+v, %+v", r, b.Repeated)
	}
}

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"---\na: b\n---\nx", "---\na: [1, {b: c}]\n---", "---\na: 'b: c'\n",
		"---\n? a\n: b\n---", "---\na: |\n  x\n---\n", "\xff---\n", "---\n\"\\ud800\": 1\n---",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Read([]byte(text))
		if err == nil && (file.Fields.Kind != '{' || file.BodyLine < 1 || file.BodyLine > strings.Count(text, "\n")+1) {
			t.Errorf("got %+v", file)
		}
		show(file.Fields)
	})
}

func FuzzFormat(f *testing.F) {
	f.Add("a plain word", "Do it.")
	f.Add("true", "---\nx: y\n---")
	f.Add("#ff0000: 'x' \"y\"\n", "")
	f.Fuzz(func(t *testing.T, text, body string) {
		file, err := Read(Format([]Field{{Key: "description", Text: text}, {Key: "steps", Text: "3", Bare: true}}, body))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := file.Fields.Get("description"); got.Text != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("%q is read as %q", text, got.Text)
		}
		if file.Body != strings.TrimSpace(body) {
			t.Errorf("the body %q is read as %q", body, file.Body)
		}
	})
}

// An error whose line is not known names none.
func TestUnknownLine(t *testing.T) {
	t.Parallel()
	_, err := Read([]byte("---\nname: \x01\n---\n"))
	if err == nil || strings.Contains(err.Error(), "line") {
		t.Errorf("got %v, want an error without a line", err)
	}
}
