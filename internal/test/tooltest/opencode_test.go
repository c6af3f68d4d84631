package tooltest_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/skill"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
	"github.com/cairn-dev/cairn/internal/tool/web"
)

// openCodeParameters are the parameters of OpenCode's tools with their types, and "!" for required ones. Calls that
// models learned for OpenCode must work; cairn's tools may accept more and require less.
var openCodeParameters = map[string]string{
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
	"websearch": "contextMaxCharacters:integer livecrawl:string numResults:integer query:string! " +
		"type:string",
	"write": "content:string! filePath:string!",
}

// shape is the part of a JSON Schema that the test compares.
type shape struct {
	Type       string           `json:"type"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
	Items      *shape           `json:"items"`
	Minimum    *float64         `json:"minimum"`
}

// parameters collects the parameters of an object, and of the objects in its lists.
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

func TestDefinitions(t *testing.T) {
	want := map[string]string{
		"apply_patch": "edit", "bash": "bash", "edit": "edit", "glob": "glob", "grep": "grep", "job": "job", "list": "list",
		"read":  "read",
		"write": "edit",
	}
	for _, d := range tooltest.New(t).Set.Definitions() {
		if want[d.Name] != d.Action || len(d.Description) < 80 || len(d.Description) > 1500 || !d.Schema.IsValid() {
			t.Errorf("%s: action %q, description %d bytes", d.Name, d.Action, len(d.Description))
		}
		delete(want, d.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestParametersAreOpenCodes(t *testing.T) {
	got := map[string]map[string]string{}
	definitions := tooltest.New(t).Set.Definitions()
	others := slices.Concat(
		dialog.New(),
		web.New(web.Config{Search: web.NewSearcher(func(string) string { return "key" })}),
		[]tool.Tool{skill.NewTool(skill.NewCache(skill.Options{}))},
	)
	for _, other := range others {
		definitions = append(definitions, other.Definition())
	}
	for _, d := range definitions {
		var s shape
		if err := json.Unmarshal(d.Schema, &s); err != nil {
			t.Fatal(err)
		}
		s.parameters(d.Name, got)
	}
	for name, want := range openCodeParameters {
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

// wantResult is the part of a result that OpenCode's clients use. Further members are allowed.
type wantResult struct {
	title, message string // message is contained in the text
	metadata       string // members; "*" matches any value
	lacks          string // a member that must be absent
	failed         bool   // message is contained in the error instead
}

func TestResultsAreOpenCodes(t *testing.T) {
	b := tooltest.New(t)
	a := b.WriteFile("a.txt", "alpha\nbeta\ngamma\n")
	main := b.WriteFile("src/main.py", "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n")
	b.WriteFile("src/util.py", "x = 1\n")
	b.WriteFile("empty.txt", "")
	b.WriteFile("Notes.md", "# notes\n")
	b.WriteFile("red.png", "\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		tool string
		in   tooltest.Input
		wantResult
	}{
		{"read", tooltest.Input{"filePath": a}, wantResult{
			title: "a.txt",
			message: "<path>" + a +
				"</path>\n<type>file</type>\n<content>\n1: alpha\n2: beta\n3: gamma\n\n(End of file - total 3 lines)\n</content>",
			metadata: `{"preview":"alpha\nbeta\ngamma","truncated":false,"loaded":[],"display":{"type":"file","path":` +
				tooltest.Quote(a) + `,"lineStart":1,"lineEnd":3,"totalLines":3,"truncated":false}}`,
		}},
		{
			"read",
			tooltest.Input{"filePath": a, "offset": 0, "limit": 0},
			wantResult{title: "a.txt", message: "3: gamma\n", metadata: `{"truncated":false}`},
		},
		{
			"read",
			tooltest.Input{"filePath": a, "offset": 2, "limit": 1},
			wantResult{
				title: "a.txt", message: "\n2: beta\n\n(Showing lines 2-2 of 3. Use offset=3 to continue.)",
				metadata: `{"truncated":true}`,
			},
		},
		{
			"read",
			tooltest.Input{"filePath": b.Path("missing.txt")},
			wantResult{message: "File not found: " + b.Path("missing.txt"), failed: true},
		},
		{"read", tooltest.Input{"filePath": b.Path("src")}, wantResult{
			title: "src", message: "<type>directory</type>\n<entries>\nmain.py\nutil.py\n",
			metadata: `{"truncated":false,"display":{"type":"directory","entries":["main.py","util.py"],"offset":1,"totalEntries":2}}`,
		}},
		{
			"read",
			tooltest.Input{"filePath": ""},
			wantResult{
				message:  "<entries>\na.txt\nempty.txt\nNotes.md\nred.png\nsrc/\n",
				metadata: `{"preview":"a.txt\nempty.txt\nNotes.md\nred.png\nsrc/"}`,
			},
		},
		{
			"read",
			tooltest.Input{"filePath": b.Path("src"), "offset": 2},
			wantResult{
				title: "src", message: "<entries>\nutil.py\n",
				metadata: `{"display":{"entries":["util.py"],"offset":2}}`,
			},
		},
		{"read", tooltest.Input{"filePath": b.Path("empty.txt")}, wantResult{
			title: "empty.txt", message: "(End of file - total 0 lines)",
			metadata: `{"preview":"","display":{"lineStart":1,"lineEnd":0,"totalLines":0}}`,
		}},
		{
			"read",
			tooltest.Input{"filePath": b.Path("red.png")},
			wantResult{
				title: "red.png", message: "Image read successfully",
				metadata: `{"preview":"Image read successfully","truncated":false,"loaded":[]}`, lacks: "display",
			},
		},
		{
			"glob",
			tooltest.Input{"pattern": "**/*.py"},
			wantResult{title: "", message: main, metadata: `{"count":2,"truncated":false}`},
		},
		{
			"glob",
			tooltest.Input{"pattern": "**/*.rs"},
			wantResult{title: "", message: "No files found", metadata: `{"count":0,"truncated":false}`},
		},
		{"grep", tooltest.Input{"pattern": "print", "include": "*.py"}, wantResult{
			title: "print", message: "Found 1 matches\n" + main + ":\n  Line 5: print(add(1, 2))\n",
			metadata: `{"matches":1,"truncated":false}`,
		}},
		{
			"grep",
			tooltest.Input{"pattern": "x", "path": b.Path("nodir")},
			wantResult{
				title: "x", message: "No files found\n(There is no directory " + b.Path("nodir"),
				metadata: `{"matches":0,"truncated":false}`,
			},
		},
		{
			"grep",
			tooltest.Input{"pattern": "nowhere"},
			wantResult{title: "nowhere", message: "No files found", metadata: `{"matches":0,"truncated":false}`},
		},
		{"edit", tooltest.Input{"filePath": main, "oldString": "return a + b", "newString": "return b + a"}, wantResult{
			title: "src/main.py", message: "Edit applied successfully.",
			metadata: `{"diagnostics":{},"diff":"*","filediff":{"file":` + tooltest.Quote(main) +
				`,"patch":"*","additions":1,"deletions":1},"truncated":false}`,
		}},
		{
			"edit",
			tooltest.Input{"filePath": a, "oldString": "nope", "newString": "x"},
			wantResult{message: "Could not find oldString in the file. It must match exactly", failed: true},
		},
		{
			"edit",
			tooltest.Input{"filePath": a, "oldString": "a", "newString": "x"},
			wantResult{message: "multiple matches", failed: true},
		},
		{"write", tooltest.Input{"filePath": b.Path("new.txt"), "content": "fresh\n"}, wantResult{
			title: "new.txt", message: "Wrote file successfully.",
			metadata: `{"diagnostics":{},"filepath":` + tooltest.Quote(b.Path("new.txt")) + `,"exists":false,"truncated":false}`,
		}},
		{
			"write",
			tooltest.Input{"filePath": a, "content": "replaced\n"},
			wantResult{title: "a.txt", message: "Wrote file successfully.", metadata: `{"exists":true}`},
		},
		{"apply_patch", patchInput("*** Add File: p.txt", "+one"), wantResult{
			title: "p.txt", message: "\nA p.txt",
			metadata: `{"diff":"*","files":"*","diagnostics":{},"truncated":false}`,
		}},
		{"bash", tooltest.Input{"command": `printf 'one\ntwo\n'; echo err >&2`, "description": "Print"}, wantResult{
			title: `printf 'one\ntwo\n'; echo err >&2`, message: "one\ntwo\nerr\n",
			metadata: `{"output":"one\ntwo\nerr\n","exit":0,"truncated":false}`,
		}},
		{
			"bash",
			tooltest.Input{"command": "exit 3"},
			wantResult{title: "exit 3", message: "(no output)", metadata: `{"output":"(no output)","exit":3,"truncated":false}`},
		},
		{"bash", tooltest.Input{"command": "echo start; sleep 30", "timeout": 300}, wantResult{
			title: "echo start; sleep 30", message: "start\n\n\n<shell_metadata>\n",
			metadata: `{"output":"start\n","exit":null,"truncated":false}`,
		}},
	} {
		s := b.Call(c.tool, c.in)
		if (s.Error != nil) != c.failed || !strings.Contains(tooltest.TextOf(s), c.message) || s.Output.Title != c.title {
			t.Errorf("%s %v\ntitle %q\n%s", c.tool, c.in, s.Output.Title, tooltest.TextOf(s))
		}
		if c.failed {
			continue
		}
		if c.lacks != "" && strings.Contains(string(s.Output.Structured), tooltest.Quote(c.lacks)) {
			t.Errorf("%s %v: metadata %s", c.tool, c.in, s.Output.Structured)
		}
		if !isCovered(decodeJSON(t, jsontext.Value(c.metadata)), decodeJSON(t, s.Output.Structured)) {
			t.Errorf("%s %v\nmetadata %s\nlacks    %s", c.tool, c.in, s.Output.Structured, c.metadata)
		}
	}
}

func decodeJSON(t *testing.T, v jsontext.Value) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(v, &out); err != nil {
		t.Fatalf("%v: %s", err, v)
	}
	return out
}

// isCovered reports whether got contains every member of want; "*" matches any value.
func isCovered(want, got any) bool {
	if want == "*" {
		return true
	}
	w, isObject := want.(map[string]any)
	g, also := got.(map[string]any)
	if !isObject || !also {
		return cmp.Equal(want, got)
	}
	for key := range w {
		if v, ok := g[key]; !ok || !isCovered(w[key], v) {
			return false
		}
	}
	return true
}

// The metadata contain the end of a long output, after an ellipsis, while the command runs and afterwards.
func TestEndOfLongOutput(t *testing.T) {
	b := tooltest.New(t)
	s := b.Call("bash", tooltest.Input{"command": "seq 1 50000"})
	var info struct {
		Output string `json:"output"`
	}
	if err := json.Unmarshal(s.Output.Structured, &info); err != nil {
		t.Fatal(err)
	}
	if end, cut := strings.CutPrefix(info.Output, "...\n\n"); !cut || utf8.RuneCountInString(end) != 30_000 ||
		!strings.HasSuffix(end, "\n50000\n") {
		t.Errorf("%d characters: %.40q", utf8.RuneCountInString(info.Output), info.Output)
	}
	s = b.Call("bash", tooltest.Input{"command": "seq 1 1000"})
	if err := json.Unmarshal(s.Output.Structured, &info); err != nil || info.Output != tooltest.TextOf(s) {
		t.Errorf("%v: %.100q", err, info.Output)
	}
}

// patchInput is the input of apply_patch with the lines of a patch.
func patchInput(lines ...string) tooltest.Input {
	return tooltest.Input{"patchText": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"}
}
