package script

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden conversations in testdata/guide")

// bench is a directory with the tools that the Guide uses, just good enough.
type bench struct {
	dir    string
	tools  []string
	denied string // this tool's asks are declined
}

func (b bench) request(messages []llm.Message) *llm.Request {
	req := &llm.Request{Model: GuideModel, Messages: messages}
	for _, name := range b.tools {
		req.Tools = append(req.Tools, llm.ToolDefinition{Name: name, Schema: jsontext.Value(`{"type":"object"}`)})
	}
	return req
}

func (b bench) run(name string, args map[string]string) (string, error) {
	if name == b.denied {
		return "", errors.New("The user declined permission for this tool call.")
	}
	at := func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(b.dir, p)
	}
	switch name {
	case "list":
		return b.list(at(args["path"]))
	case "glob":
		return b.glob(args["pattern"])
	case "grep":
		return b.grep(args["pattern"], at(args["path"]))
	case "read":
		return b.read(at(args["filePath"]), args["offset"], args["limit"])
	case "edit":
		data, err := os.ReadFile(at(args["filePath"]))
		if err != nil {
			return "", err
		}
		n := strings.Count(string(data), args["oldString"])
		if n == 0 || (n > 1 && args["replaceAll"] != "true") {
			return "", fmt.Errorf("oldString found %d times", n)
		}
		text := strings.ReplaceAll(string(data), args["oldString"], args["newString"])
		return "Edit applied.", os.WriteFile(at(args["filePath"]), []byte(text), 0o600)
	case "write":
		return "Wrote file.", os.WriteFile(at(args["filePath"]), []byte(args["content"]), 0o600)
	case "bash":
		return "ran: " + args["command"] + "\n", nil
	default:
		return "", errors.New("unknown tool")
	}
}

func (b bench) list(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("no such directory: %s", filepath.Base(dir))
	}
	var out strings.Builder
	for _, e := range entries {
		out.WriteString(e.Name())
		if e.IsDir() {
			out.WriteString("/")
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}

func (b bench) walk(visit func(rel string)) error {
	return filepath.WalkDir(b.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(b.dir, p)
		visit(filepath.ToSlash(rel))
		return err
	})
}

func (b bench) glob(pattern string) (string, error) {
	var out strings.Builder
	n := 0
	err := b.walk(func(rel string) {
		name := strings.TrimPrefix(pattern, "**/")
		ok, _ := path.Match(name, path.Base(rel))
		if whole, _ := path.Match(name, rel); !ok && !whole {
			return
		}
		if n++; n <= 100 {
			out.WriteString(filepath.Join(b.dir, rel) + "\n")
		}
	})
	if n == 0 {
		return "No files found", err
	}
	if n > 100 {
		out.WriteString("\n(Results are truncated: showing first 100 results.)\n")
	}
	return out.String(), err
}

func (b bench) grep(pattern, dir string) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("no such directory: %s", filepath.Base(dir))
	}
	var out strings.Builder
	n := 0
	err = b.walk(func(rel string) {
		full := filepath.Join(b.dir, rel)
		if !strings.HasPrefix(full, dir) {
			return
		}
		data, _ := os.ReadFile(full)
		head := false
		for i, text := range strings.Split(string(data), "\n") {
			if !re.MatchString(text) {
				continue
			}
			if n++; !head {
				head = true
				out.WriteString(full + ":\n")
			}
			fmt.Fprintf(&out, "  Line %d: %s\n", i+1, text)
		}
	})
	if n == 0 {
		return "No files found", err
	}
	return fmt.Sprintf("Found %d matches\n%s", n, out.String()), err
}

func (b bench) read(name, offset, limit string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("File not found: %s", filepath.Base(name))
	}
	if slices.Contains(data, 0) || !utf8.Valid(data) {
		return "", fmt.Errorf("Cannot read binary file: %s", filepath.Base(name))
	}
	first, most := 1, 2000
	_, _ = fmt.Sscan(offset, &first)
	_, _ = fmt.Sscan(limit, &most)
	all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(data) == 0 {
		all = nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, "<path>%s</path>\n<type>file</type>\n<content>\n", name)
	last := min(first-1+most, len(all))
	for i := first - 1; i < last; i++ {
		fmt.Fprintf(&out, "%d: %s\n", i+1, all[i])
	}
	if last < len(all) {
		fmt.Fprintf(&out, "\n(Showing lines %d-%d of %d. Use offset=%d to continue.)\n</content>", first, last, len(all), last+1)
	} else {
		fmt.Fprintf(&out, "\n(End of file - total %d lines)\n</content>", len(all))
	}
	return out.String(), nil
}

// converse drives the Guide until it answers, and returns the conversation as text.
func (b bench) converse(t *testing.T, messages []llm.Message) (transcript, answer string) {
	t.Helper()
	var out strings.Builder
	for turn := 1; ; turn++ {
		if turn > maxGuideTurns {
			t.Fatalf("no answer after %d turns:\n%s", maxGuideTurns, out.String())
		}
		said, calls := listenGuide(t, b.request(messages))
		if len(calls) == 0 {
			return out.String() + "\n" + said, said
		}
		if said != "" {
			t.Errorf("text beside calls: %q", said)
		}
		assistant := llm.Message{Role: llm.RoleAssistant}
		results := llm.Message{Role: llm.RoleTool}
		for _, call := range calls {
			if !slices.Contains(b.tools, call.Name) {
				t.Errorf("call of %s, which is not offered", call.Name)
			}
			fmt.Fprintf(&out, "[%d] %s %s\n", turn, call.Name, strings.ReplaceAll(string(call.Input), b.dir, "$DIR"))
			assistant.Parts = append(assistant.Parts, llm.ToolCall{ID: call.ID, Name: call.Name, Input: call.Input})
			text, err := b.run(call.Name, stringsOf(call.Input))
			if err != nil {
				text = err.Error()
				fmt.Fprintf(&out, "    failed: %s\n", text)
			}
			results.Parts = append(results.Parts, llm.ToolResult{
				ID: call.ID, Name: call.Name, IsError: err != nil, Content: []llm.Part{llm.Text{Text: text}},
			})
		}
		messages = append(messages, assistant, results)
	}
}

func listenGuide(t *testing.T, req *llm.Request) (text string, calls []llm.ToolCallEvent) {
	t.Helper()
	var finish *llm.Finish
	for e, err := range (Guide{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case llm.TextDelta:
			if e.Delta == "" || !utf8.ValidString(e.Delta) {
				t.Errorf("bad delta %q", e.Delta)
			}
			text += e.Delta
		case llm.ToolCallEvent:
			if e.Invalid != "" {
				t.Errorf("invalid call: %s", e.Invalid)
			}
			calls = append(calls, e)
		case llm.Finish:
			finish = &e
		}
	}
	if finish == nil || finish.Usage.Output == 0 || (finish.Reason == llm.FinishToolCalls) != (len(calls) > 0) {
		t.Errorf("finish: %+v", finish)
	}
	return text, calls
}

var allTools = []string{"bash", "edit", "glob", "grep", "list", "read", "write"}

var goProject = map[string]string{
	"README.md": "# <img src=\"x.png\"> Hare\n\n[![build](a)](b)\n\nHare counts [words](http://w) in\nmany files, fast.\n\n## About\n\nMore.\n\n```go\nhare.Count()\n```\n\n## Usage\n\n```sh\ngo run . -n 3 *.txt\n```\n",
	"go.mod":    "module example.org/hare\n\ngo 1.26\n\nrequire (\n\tgithub.com/google/go-cmp v0.7.0\n\tgolang.org/x/sys v0.1.0 // indirect\n)\n",
	"main.go":   "// Copyright somebody.\n\n// Command hare counts words. It is quick.\npackage main\n\nimport \"os\"\n\nfunc main() {\n\tCount(os.Args[1:])\n}\n",
	"internal/count/count.go": "// Package count counts.\npackage count\n\n// Count counts the words of files.\nfunc Count(files []string) int { return len(files) }\n" +
		"\nvar total = Count(nil)\n",
	"internal/count/count_test.go": "package count\n",
	"docs/notes.txt":               "Count\n",
}

func TestGuideConversations(t *testing.T) {
	many := map[string]string{"README": "Big\n===\n\nA big tree.\n", "huge.py": strings.Repeat("x = 1\n", 5000)}
	for i := range 150 {
		many[fmt.Sprintf("pkg/f%03d.py", i)] = "def f():\n    pass\n"
	}
	node := map[string]string{
		"package.json": "{\n  \"name\": \"owl\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Watches at night\",\n  \"main\": \"lib/owl.js\",\n" +
			"  \"scripts\": {\"start\": \"node .\", \"test\": \"jest\"},\n  \"dependencies\": {\"left-pad\": \"1\"}\n}\n",
		"lib/owl.js":      "/**\n * Owl watches the night sky.\n */\nfunction owl() {}\nmodule.exports = owl\n",
		"lib/owl.test.js": "test()\n",
	}
	notes := map[string]string{"a.txt": "the cat sat\non the cat mat\n\x1b[31mred\n", "b.txt": "say \"with\" in here\n"}
	tests := []struct {
		name   string
		files  map[string]string
		prompt string
		tools  []string
		denied string
	}{
		{name: "overview", files: goProject, prompt: "What does this project do? Name the files you read."},
		{name: "overview-node", files: node, prompt: "please give me an overview of this repository"},
		{name: "overview-many", files: many, prompt: "what is this?"},
		{name: "overview-empty", prompt: "What does this project do?"},
		{name: "overview-binary", files: map[string]string{"main.go": "\x00\x01", "logo.png": "\x89PNG\x00"}, prompt: "What does this project do?"},
		{name: "overview-plain", files: notes, prompt: "What does this directory do?"},
		{name: "overview-no-read", files: goProject, prompt: "What does this project do?", tools: []string{"list"}},
		{name: "overview-denied", files: goProject, prompt: "What does this project do?", denied: "read"},
		{name: "overview-no-tools", files: goProject, prompt: "What does this project do?", tools: []string{"other"}},
		{name: "find", files: goProject, prompt: "where is Count defined?"},
		{name: "find-uses", files: goProject, prompt: "Find all uses of `Count` in internal"},
		{name: "find-phrase", files: goProject, prompt: "find the WORDS of files"},
		{name: "find-nothing", files: goProject, prompt: "grep for zebra"},
		{name: "find-file", files: goProject, prompt: "find *_test.go"},
		{name: "find-in-missing", files: goProject, prompt: "find Count in nowhere"},
		{name: "grep-pattern", files: goProject, prompt: `grep "func [A-Z]"`},
		{name: "read", files: goProject, prompt: "show main.go lines 3-4"},
		{name: "read-missing", files: goProject, prompt: "Read the file cuont.go"},
		{name: "read-similar", files: goProject, prompt: "cat count"},
		{name: "read-escapes", files: notes, prompt: "read a.txt"},
		{name: "list", files: goProject, prompt: "list the files in internal/count"},
		{name: "list-root", files: goProject, prompt: "ls"},
		{name: "explain", files: goProject, prompt: "What does internal/count/count.go do?"},
		{name: "replace", files: notes, prompt: `Replace "cat" with "dog" in a.txt`},
		{name: "replace-once", files: notes, prompt: "replace mat with rug in a.txt."},
		{name: "replace-tricky", files: notes, prompt: `replace "say \"with\" in" with "x in y" in b.txt`},
		{name: "replace-quoted", files: notes, prompt: `please replace 'say "with" in' with 'x in y' in file b.txt`},
		{name: "replace-absent", files: notes, prompt: "replace cow with dog in a.txt"},
		{name: "replace-denied", files: notes, prompt: "replace cat with dog in a.txt", denied: "edit"},
		{name: "replace-missing", files: notes, prompt: "replace cat with dog in c.txt"},
		{name: "replace-no-edit", files: notes, prompt: "replace cat with dog in a.txt", tools: []string{"list", "read"}},
		{name: "replace-huge", files: many, prompt: "replace x = 1 with x = 2 in huge.py"},
		{name: "create", files: notes, prompt: "create new.txt with \"hello\nworld\""},
		{name: "create-exists", files: notes, prompt: `create a.txt with "hello"`},
		{name: "run", prompt: "run `echo hi`"},
		{name: "run-denied", prompt: "run `echo hi`", denied: "bash"},
		{name: "question", files: goProject, prompt: "How does quickness matter?"},
		{name: "other", files: goProject, prompt: "Implement a parser and commit it."},
		{name: "help", prompt: "Hello!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bench{dir: t.TempDir(), tools: tt.tools, denied: tt.denied}
			if b.tools == nil {
				b.tools = allTools
			}
			writeFiles(t, b.dir, tt.files)
			transcript, answer := b.converse(t, []llm.Message{user(tt.prompt)})
			if !strings.HasPrefix(answer, introduction) {
				t.Errorf("the answer does not begin with the introduction: %q", answer)
			}
			got := "> " + strings.ReplaceAll(tt.prompt, "\n", "\n> ") + "\n\n" + strings.ReplaceAll(transcript, b.dir, "$DIR")
			golden(t, tt.name, got+changes(t, b.dir, tt.files))
		})
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// changes tells which files differ from what they were.
func changes(t *testing.T, dir string, before map[string]string) string {
	t.Helper()
	var out strings.Builder
	err := bench{dir: dir}.walk(func(rel string) {
		data, err := os.ReadFile(filepath.Join(dir, rel))
		if err != nil {
			t.Error(err)
		}
		if old, ok := before[rel]; !ok || old != string(data) {
			fmt.Fprintf(&out, "\nCHANGED %s:\n%s\n", rel, shorten(string(data), 200))
		}
	})
	if err != nil {
		t.Error(err)
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "guide", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got; -update rewrites)\n%s", diff)
	}
}

func TestGuideKeepsToTheLastTask(t *testing.T) {
	b := bench{dir: t.TempDir(), tools: allTools}
	writeFiles(t, b.dir, goProject)
	old := []llm.Message{
		result("gone", "a result whose call was cut away"),
		user("list the files"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "x", Name: "list", Input: jsontext.Value(`{}`)}}},
		result("x", "old-entry\n"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "Here it is."}}},
		user("list the files"),
		{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "a reminder"}}},
	}
	transcript, answer := b.converse(t, old)
	if strings.Contains(answer, "old-entry") || !strings.Contains(answer, "go.mod") || !strings.Contains(transcript, "[1] list") {
		t.Errorf("answered from an older task:\n%s", transcript)
	}
}

func TestGuideIsDeterministicAndIDsDiffer(t *testing.T) {
	b := bench{tools: allTools}
	first := []llm.Message{user("ls")}
	_, one := listenGuide(t, b.request(first))
	_, again := listenGuide(t, b.request(first))
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("the same request got another answer:\n%s", diff)
	}
	_, later := listenGuide(t, b.request(append(first, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "x"}}}, user("ls"))))
	if one[0].ID == later[0].ID {
		t.Errorf("id %s came twice", one[0].ID)
	}
}

// A conversation in which nothing ever works out must still end.
func TestGuideNeverLoops(t *testing.T) {
	prompts := []string{
		"What does this project do?", "find Count", "read nothing.txt", "replace a with b in c.txt", "ls", "create a.b with c", "run `x`",
		"explain a/b.go", "why is tomorrow", "do it", "",
	}
	outcomes := map[string]func(call llm.ToolCallEvent) llm.ToolResult{
		"empty":  func(c llm.ToolCallEvent) llm.ToolResult { return llm.ToolResult{ID: c.ID} },
		"errors": func(c llm.ToolCallEvent) llm.ToolResult { return llm.ToolResult{ID: c.ID, IsError: true} },
		"noise": func(c llm.ToolCallEvent) llm.ToolResult {
			return llm.ToolResult{ID: c.ID, Content: []llm.Part{llm.Text{Text: "\xff\x00: 1: :\n\n/a/b:\n  Line x\n<y>\n(z)\n"}}}
		},
		"media": func(c llm.ToolCallEvent) llm.ToolResult {
			return llm.ToolResult{ID: c.ID, Content: []llm.Part{llm.Media{MediaType: "image/png"}}}
		},
		"wrong id": func(llm.ToolCallEvent) llm.ToolResult { return llm.ToolResult{ID: "z"} },
	}
	for name, outcome := range outcomes {
		for _, prompt := range prompts {
			t.Run(name+"/"+prompt, func(t *testing.T) {
				b := bench{tools: allTools}
				messages := []llm.Message{user(prompt)}
				for turn := 1; ; turn++ {
					text, calls := listenGuide(t, b.request(messages))
					if len(calls) == 0 {
						if !strings.HasPrefix(text, introduction) || len(text) < len(introduction)+20 {
							t.Errorf("answer: %q", text)
						}
						return
					}
					if turn == maxGuideTurns {
						t.Fatal("no end")
					}
					for _, c := range calls {
						messages = append(messages,
							llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input}}},
							llm.Message{Role: llm.RoleTool, Parts: []llm.Part{outcome(c)}})
					}
				}
			})
		}
	}
}

func TestGuideIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range (Guide{}).Stream(ctx, &llm.Request{}) {
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Class != llm.Aborted {
			t.Errorf("got %v", err)
		}
	}
}

func TestIntents(t *testing.T) {
	tests := []struct {
		text string
		want intent
	}{
		{"replace X with Y in FILE", intent{kind: wantReplace, a: "X", b: "Y", path: "FILE"}},
		{"Replace `a b` by `c` in `d e.txt`.", intent{kind: wantReplace, a: "a b", b: "c", path: "d e.txt"}},
		{"replace all occurrences of foo with bar in the file x/y.go", intent{kind: wantReplace, a: "foo", b: "bar", path: "x/y.go"}},
		{"replace the word foo with \"\" in a", intent{kind: wantReplace, a: "foo", path: "a"}},
		{"change 1 to 2 in a.txt", intent{kind: wantReplace, a: "1", b: "2", path: "a.txt"}},
		{"replace one with two in three in a.txt", intent{kind: wantReplace, a: "one", b: "two in three", path: "a.txt"}},
		{"replace \"x\ny\" with 'z' in a.txt", intent{kind: wantReplace, a: "x\ny", b: "z", path: "a.txt"}},
		{"replace the parser", intent{}},
		{"where is the retry function defined?", intent{kind: wantFind, a: "retry", defined: true}},
		{"Where are TODOs in docs?", intent{kind: wantFind, a: "TODOs", path: "docs", defined: true}},
		{"find foo() in this project", intent{kind: wantFind, a: "foo"}},
		{"which files import \"net/http\"?", intent{kind: wantFind, a: "net/http"}},
		{"grep \"foo in bar\"", intent{kind: wantFind, a: "foo in bar", pattern: true}},
		{"grep \"foo in bar\" in `x`", intent{kind: wantFind, a: "foo in bar", path: "x", pattern: true}},
		{"grep -x", intent{kind: wantFind, a: "-x", pattern: true}},
		{"read a/b.go:10-20", intent{kind: wantShow, path: "a/b.go", first: 10, last: 20}},
		{"show me lines 3 to 5 of a.txt", intent{kind: wantShow, path: "a.txt", first: 3, last: 5}},
		{"show a.txt line 7", intent{kind: wantShow, path: "a.txt", first: 7, last: 7}},
		{"Show the files", intent{kind: wantList}},
		{"list", intent{kind: wantList}},
		{"list src/", intent{kind: wantList, path: "src/"}},
		{"what files are here?", intent{kind: wantList}},
		{"run the tests", intent{kind: wantOther}},
		{"run go version", intent{kind: wantRun, a: "go version"}},
		{"How do I run this?", intent{kind: wantOverview}},
		{"Where do I start?", intent{kind: wantOverview}},
		{"explain internal/x.go", intent{kind: wantExplain, path: "internal/x.go"}},
		{"Summarize README.md.", intent{kind: wantExplain, path: "README.md"}},
		{"Read README.md and tell me what this project does", intent{kind: wantOverview}},
		{"why does parseConfig fail?", intent{kind: wantQuestion, a: "parseConfig"}},
		{"create a file notes.md with hello", intent{kind: wantCreate, path: "notes.md", a: "hello"}},
		{"write a poem with rhymes", intent{}},
		{"", intent{kind: wantHelp}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, intentOf(tt.text), cmp.AllowUnexported(intent{})); diff != "" {
			t.Errorf("%q:\n%s", tt.text, diff)
		}
	}
}

func TestToolResultForms(t *testing.T) {
	for _, text := range []string{
		"<path>/d/a</path>\n<content>\n1: one\n2: \n3: 7: three\n\n(End of file - total 3 lines)\n</content>",
		"     1\tone\n     2\t\n     3\t7: three\n",
		"00001| one\n00002| \n00003| 7: three\n",
	} {
		f := fileOf("a", &exchange{text: text})
		if got := f.text(); got != "one\n\n7: three" || !f.whole {
			t.Errorf("%q: got %q, whole %t", text, got, f.whole)
		}
	}
	for _, text := range []string{"a/\n  b.go\nc\n", "/x/y/\n  a/\n    b.go\n  c\n", "- a/\n- a/b.go\n- c\n", "a/\na/b.go\nc\n\n(3 entries)\n"} {
		if diff := cmp.Diff([]string{"a/", "a/b.go", "c"}, entriesOf(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	want := []match{{"a/b.go", line{3, "x: y"}}, {"a/b.go", line{9, "z"}}, {"c", line{1, "q"}}}
	for _, text := range []string{
		"Found 3 matches\na/b.go:\n  Line 3: x: y\n  Line 9: z\n\nc:\n  Line 1: q\n",
		"a/b.go:3:x: y\na/b.go:9:z\nc:1:q\n",
		"a/b.go:\n3: x: y\n9: z\nc:\n1: q\n",
	} {
		got, _ := matchesOf(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(match{}, line{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestRootOf(t *testing.T) {
	tests := []struct {
		paths, entries []string
		want           string
	}{
		{[]string{"/w/p/a.go", "/w/p/x/b.go"}, []string{"a.go", "x/"}, "/w/p"},
		{[]string{"/w/p/x/a.go", "/w/p/x/b.go"}, []string{"x/"}, "/w/p"},
		{[]string{"/w/p/x/y/a.go"}, []string{"x/"}, "/w/p"},
		{[]string{"a.go"}, []string{"a.go"}, ""},
		{nil, nil, ""},
	}
	for _, tt := range tests {
		if got := rootOf(tt.paths, tt.entries); got != tt.want {
			t.Errorf("rootOf(%v) = %q, want %q", tt.paths, got, tt.want)
		}
	}
}

// FuzzGuide feeds user texts and tool results of any kind: there is always a turn that can be played.
func FuzzGuide(f *testing.F) {
	f.Add("What does this project do?", "README.md\nmain.go\n", "1: # A\n2: \n3: text\n")
	f.Add("replace a with b in c", "", "1: a\n")
	f.Add("find Foo", "x:\n  Line 1: Foo\n", "")
	f.Add("explain a/b.go", "", "1: \"\"\"\n2: doc\n")
	f.Fuzz(func(t *testing.T, prompt, one, two string) {
		b := bench{tools: allTools}
		messages := []llm.Message{user(prompt)}
		for turn := range maxGuideTurns + 1 {
			calls := guideTurn(b.request(messages))
			if err := (Script{Turns: []Turn{calls}}).Validate(); err != nil {
				t.Fatal(err)
			}
			if calls.Steps[0].Call == nil {
				return
			}
			if turn == maxGuideTurns {
				t.Fatal("no end")
			}
			for i, s := range calls.Steps {
				text := one
				if i > 0 || turn > 0 {
					text = two
				}
				messages = append(messages,
					llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: s.Call.ID, Name: s.Call.Name, Input: s.Call.Arguments}}},
					result(s.Call.ID, text))
			}
		}
	})
}
