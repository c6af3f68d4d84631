package builtin_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/skill"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/builtin"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

// taken are the parameters of OpenCode's tools, with what each is and "!" where it must be given: what its models were
// taught is understood here. Ours may take more and demand less.
var taken = map[string]string{
	"apply_patch":                "patchText:string!",
	"bash":                       "command:string! timeout:integer workdir:string",
	"edit":                       "filePath:string! newString:string! oldString:string! replaceAll:boolean",
	"glob":                       "path:string pattern:string!",
	"grep":                       "include:string path:string pattern:string!",
	"question":                   "questions:array!",
	"question.questions":         "header:string! multiple:boolean options:array! question:string!",
	"question.questions.options": "description:string! label:string!",
	"read":                       "filePath:string! limit:integer offset:integer",
	"skill":                      "name:string!",
	"todowrite":                  "todos:array!",
	"todowrite.todos":            "content:string! priority:string! status:string!",
	"webfetch":                   "format:string timeout:number url:string!",
	"websearch":                  "contextMaxCharacters:integer livecrawl:string numResults:integer query:string! type:string",
	"write":                      "content:string! filePath:string!",
}

// shape is as much of a JSON Schema as matters here.
type shape struct {
	Type       string           `json:"type"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
	Items      *shape           `json:"items"`
	Minimum    *float64         `json:"minimum"`
}

// parameters collects what an object takes, and what the objects in its lists take.
func (s shape) parameters(name string, into map[string]map[string]string) {
	into[name] = map[string]string{}
	for key, p := range s.Properties {
		into[name][key] = p.Type
		if slices.Contains(s.Required, key) {
			into[name][key] += "!"
		}
		if p.Items != nil && len(p.Items.Properties) > 0 {
			p.Items.parameters(name+"."+key, into)
		}
	}
}

func TestParametersAreOpenCodes(t *testing.T) {
	got := map[string]map[string]string{}
	all := slices.Concat(
		builtin.New(builtin.Config{Directory: t.TempDir()}), dialog.New(),
		web.New(web.Config{Search: web.SearcherOf(func(string) string { return "key" })}),
		[]tool.Tool{skill.NewTool(func() skill.Found { return skill.Found{} })},
	)
	for _, tl := range all {
		var s shape
		if err := json.Unmarshal(tl.Definition().Schema, &s); err != nil {
			t.Fatal(err)
		}
		s.parameters(tl.Definition().Name, got)
	}
	for name, want := range taken {
		for _, p := range strings.Fields(want) {
			key, kind, _ := strings.Cut(p, ":")
			ours, ok := got[name][key]
			if !ok || strings.TrimSuffix(ours, "!") != strings.TrimSuffix(kind, "!") {
				t.Errorf("%s takes %s as %q, not as %q", name, key, ours, kind)
			}
			delete(got[name], key)
			if strings.HasSuffix(ours, "!") && !strings.HasSuffix(kind, "!") {
				t.Errorf("%s demands %s, which OpenCode does not", name, key)
			}
		}
		for key, kind := range got[name] {
			if strings.HasSuffix(kind, "!") {
				t.Errorf("%s demands %s, which OpenCode does not know", name, key)
			}
		}
	}
}

// told is what a client of OpenCode looks for in a result. Keys of ours beside these harm nobody.
type told struct {
	title, says string // says is a part of the text
	metadata    string // members; "*" is any value
	lacks       string // a member that is not there
	failed      bool   // says is a part of the error instead
}

func TestResultsAreOpenCodes(t *testing.T) {
	b := newBench(t)
	a := b.file("a.txt", "alpha\nbeta\ngamma\n")
	main := b.file("src/main.py", "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n")
	b.file("src/util.py", "x = 1\n")
	b.file("empty.txt", "")
	b.file("Notes.md", "# notes\n")
	b.file("red.png", "\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		tool string
		in   in
		told
	}{
		{"read", in{"filePath": a}, told{
			title: "a.txt", says: "<path>" + a + "</path>\n<type>file</type>\n<content>\n1: alpha\n2: beta\n3: gamma\n\n(End of file - total 3 lines)\n</content>",
			metadata: `{"preview":"alpha\nbeta\ngamma","truncated":false,"loaded":[],"display":{"type":"file","path":` + quote(a) + `,"lineStart":1,"lineEnd":3,"totalLines":3,"truncated":false}}`,
		}},
		{"read", in{"filePath": a, "offset": 0, "limit": 0}, told{title: "a.txt", says: "3: gamma\n", metadata: `{"truncated":false}`}},
		{"read", in{"filePath": a, "offset": 2, "limit": 1}, told{title: "a.txt", says: "\n2: beta\n\n(Showing lines 2-2 of 3. Use offset=3 to continue.)", metadata: `{"truncated":true}`}},
		{"read", in{"filePath": b.path("missing.txt")}, told{says: "File not found: " + b.path("missing.txt"), failed: true}},
		{"read", in{"filePath": b.path("src")}, told{
			title: "src", says: "<type>directory</type>\n<entries>\nmain.py\nutil.py\n", metadata: `{"truncated":false,"display":{"type":"directory","entries":["main.py","util.py"],"offset":1,"totalEntries":2}}`,
		}},
		{"read", in{"filePath": ""}, told{says: "<entries>\na.txt\nempty.txt\nNotes.md\nred.png\nsrc/\n", metadata: `{"preview":"a.txt\nempty.txt\nNotes.md\nred.png\nsrc/"}`}},
		{"read", in{"filePath": b.path("src"), "offset": 2}, told{title: "src", says: "<entries>\nutil.py\n", metadata: `{"display":{"entries":["util.py"],"offset":2}}`}},
		{"read", in{"filePath": b.path("empty.txt")}, told{
			title: "empty.txt", says: "(End of file - total 0 lines)", metadata: `{"preview":"","display":{"lineStart":1,"lineEnd":0,"totalLines":0}}`,
		}},
		{"read", in{"filePath": b.path("red.png")}, told{title: "red.png", says: "Image read successfully", metadata: `{"preview":"Image read successfully","truncated":false,"loaded":[]}`, lacks: "display"}},
		{"glob", in{"pattern": "**/*.py"}, told{title: "", says: main, metadata: `{"count":2,"truncated":false}`}},
		{"glob", in{"pattern": "**/*.rs"}, told{title: "", says: "No files found", metadata: `{"count":0,"truncated":false}`}},
		{"grep", in{"pattern": "print", "include": "*.py"}, told{
			title: "print", says: "Found 1 matches\n" + main + ":\n  Line 5: print(add(1, 2))\n", metadata: `{"matches":1,"truncated":false}`,
		}},
		{"grep", in{"pattern": "x", "path": b.path("nodir")}, told{title: "x", says: "No files found\n(There is no directory " + b.path("nodir"), metadata: `{"matches":0,"truncated":false}`}},
		{"grep", in{"pattern": "nowhere"}, told{title: "nowhere", says: "No files found", metadata: `{"matches":0,"truncated":false}`}},
		{"edit", in{"filePath": main, "oldString": "return a + b", "newString": "return b + a"}, told{
			title: "src/main.py", says: "Edit applied successfully.",
			metadata: `{"diagnostics":{},"diff":"*","filediff":{"file":` + quote(main) + `,"patch":"*","additions":1,"deletions":1},"truncated":false}`,
		}},
		{"edit", in{"filePath": a, "oldString": "nope", "newString": "x"}, told{says: "Could not find oldString in the file. It must match exactly", failed: true}},
		{"edit", in{"filePath": a, "oldString": "a", "newString": "x"}, told{says: "multiple matches", failed: true}},
		{"write", in{"filePath": b.path("new.txt"), "content": "fresh\n"}, told{
			title: "new.txt", says: "Wrote file successfully.", metadata: `{"diagnostics":{},"filepath":` + quote(b.path("new.txt")) + `,"exists":false,"truncated":false}`,
		}},
		{"write", in{"filePath": a, "content": "replaced\n"}, told{title: "a.txt", says: "Wrote file successfully.", metadata: `{"exists":true}`}},
		{"apply_patch", patchOf("*** Add File: p.txt", "+one"), told{
			title: "p.txt", says: "\nA p.txt",
			metadata: `{"diff":"*","files":"*","diagnostics":{},"truncated":false}`,
		}},
		{"bash", in{"command": `printf 'one\ntwo\n'; echo err >&2`, "description": "Print"}, told{
			title: `printf 'one\ntwo\n'; echo err >&2`, says: "one\ntwo\nerr\n", metadata: `{"output":"one\ntwo\nerr\n","exit":0,"truncated":false}`,
		}},
		{"bash", in{"command": "exit 3"}, told{title: "exit 3", says: "(no output)", metadata: `{"output":"(no output)","exit":3,"truncated":false}`}},
		{"bash", in{"command": "echo start; sleep 30", "timeout": 300}, told{
			title: "echo start; sleep 30", says: "start\n\n\n<shell_metadata>\n", metadata: `{"output":"start\n","exit":null,"truncated":false}`,
		}},
	} {
		s := b.call(c.tool, c.in)
		if (s.Error != nil) != c.failed || !strings.Contains(says(s), c.says) || s.Output.Title != c.title {
			t.Errorf("%s %v\ntitle %q\n%s", c.tool, c.in, s.Output.Title, says(s))
		}
		if c.failed {
			continue
		}
		if c.lacks != "" && strings.Contains(string(s.Output.Structured), quote(c.lacks)) {
			t.Errorf("%s %v: metadata %s", c.tool, c.in, s.Output.Structured)
		}
		if !covers(decoded(t, jsontext.Value(c.metadata)), decoded(t, s.Output.Structured)) {
			t.Errorf("%s %v\nmetadata %s\nlacks    %s", c.tool, c.in, s.Output.Structured, c.metadata)
		}
	}
}

func decoded(t *testing.T, v jsontext.Value) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(v, &out); err != nil {
		t.Fatalf("%v: %s", err, v)
	}
	return out
}

// covers reports whether every member of want is in got; "*" stands for any value.
func covers(want, got any) bool {
	if want == "*" {
		return true
	}
	w, isObject := want.(map[string]any)
	g, also := got.(map[string]any)
	if !isObject || !also {
		return cmp.Equal(want, got)
	}
	for key := range w {
		if v, ok := g[key]; !ok || !covers(w[key], v) {
			return false
		}
	}
	return true
}

// A client sees the end of a long output, with a mark before it, in the metadata, while the command runs and after.
func TestEndOfLongOutput(t *testing.T) {
	b := newBench(t)
	s := b.call("bash", in{"command": "seq 1 50000"})
	var info struct {
		Output string `json:"output"`
	}
	if err := json.Unmarshal(s.Output.Structured, &info); err != nil {
		t.Fatal(err)
	}
	if end, cut := strings.CutPrefix(info.Output, "...\n\n"); !cut || utf8.RuneCountInString(end) != 30_000 || !strings.HasSuffix(end, "\n50000\n") {
		t.Errorf("%d characters: %.40q", utf8.RuneCountInString(info.Output), info.Output)
	}
	s = b.call("bash", in{"command": "seq 1 1000"})
	if err := json.Unmarshal(s.Output.Structured, &info); err != nil || info.Output != says(s) {
		t.Errorf("%v: %.100q", err, info.Output)
	}
}
