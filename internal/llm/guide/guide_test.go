package guide

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden conversations in testdata")

// bench is a directory with simple versions of the tools that the guide uses; their results have the real form.
type bench struct {
	dir    string
	tools  []string
	denied string // the user declines this tool
}

func (b bench) request(messages []llm.Message) *llm.Request {
	req := &llm.Request{Model: ModelID, Messages: messages}
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
	out.WriteString(dir + "/\n")
	for _, e := range entries {
		out.WriteString("  " + e.Name())
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
		const more = "\n(Showing lines %d-%d of %d. Use offset=%d to continue.)\n</content>"
		fmt.Fprintf(&out, more, first, last, len(all), last+1)
	} else {
		fmt.Fprintf(&out, "\n(End of file - total %d lines)\n</content>", len(all))
	}
	return out.String(), nil
}

// converse runs the guide until it answers, and returns the conversation and the answer as text.
func (b bench) converse(t *testing.T, messages []llm.Message) (transcript, answer string) {
	t.Helper()
	var out strings.Builder
	for turn := 1; ; turn++ {
		if turn > maxTurns {
			t.Fatalf("no answer after %d turns:\n%s", maxTurns, out.String())
		}
		said, calls := readStream(t, b.request(messages))
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
			text, err := b.run(call.Name, stringArguments(call.Input))
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

func readStream(t *testing.T, req *llm.Request) (text string, calls []llm.ToolCallEvent) {
	t.Helper()
	var finish *llm.Finish
	for e, err := range (Model{}).Stream(t.Context(), req) {
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

var allTools = []string{"edit", "grep", "list", "read"}

// maxTurns is the most turns that a task of the guide takes.
const maxTurns = 4

var goProject = map[string]string{
	"README.md": "# Hare\n\n[![build](a)](b)\n\nHare counts [words](http://w) in\nmany files, fast.\n\n" +
		"## About\n\nMore.\n\n```go\nhare.Count()\n```\n\n## Usage\n\n```sh\ngo run . -n 3 *.txt\n```\n",
	"go.mod": "module example.org/hare\n\ngo 1.26\n\nrequire github.com/google/go-cmp v0.7.0\n",
	"main.go": "// Copyright 2026.\n\n// Command hare counts words. It is quick.\npackage main\n\nimport \"os\"\n\n" +
		"func main() {\n\tCount(os.Args[1:])\n}\n",
	"internal/count/count.go": "// Package count counts.\npackage count\n\n// Count counts the words of files.\n" +
		"func Count(files []string) int { return len(files) }\n\nvar total = Count(nil)\n",
	"internal/count/count_test.go": "package count\n",
	"docs/notes.txt":               "Count\n",
}

func TestGuideConversations(t *testing.T) {
	node := map[string]string{
		"package.json": "{\n  \"name\": \"owl\",\n  \"version\": \"1.0.0\",\n" +
			"  \"description\": \"Watches at night\",\n  \"scripts\": {\"start\": \"node .\"}\n}\n",
		"index.js": "/**\n * Owl watches the night sky.\n */\nfunction owl() {}\nmodule.exports = owl\n",
	}
	notes := map[string]string{
		"a.txt":    "the cat sat\non the cat mat\n\x1b[31mred\n",
		"b.txt":    "say \"with\" in here\n",
		"huge.txt": strings.Repeat("x = 1\n", 5000),
	}
	const overview = "What does this project do? Name the files you read."
	tests := []struct {
		name   string
		files  map[string]string
		prompt string
		tools  []string
		denied string
	}{
		{name: "overview", files: goProject, prompt: overview},
		{name: "overview-node", files: node, prompt: "please give me an overview of this repository"},
		{name: "overview-empty", prompt: overview},
		{name: "overview-denied", files: goProject, prompt: overview, denied: "read"},
		{name: "overview-no-tools", files: goProject, prompt: overview, tools: []string{"other"}},
		{name: "find", files: goProject, prompt: "where is Count"},
		{name: "find-nothing", files: goProject, prompt: "grep zebra"},
		{name: "read", files: goProject, prompt: "show main.go"},
		{name: "read-missing", files: goProject, prompt: "Read the file cuont.go"},
		{name: "read-escapes", files: notes, prompt: "read a.txt"},
		{name: "list", files: goProject, prompt: "list the files in internal/count"},
		{name: "list-missing", files: goProject, prompt: "ls nowhere"},
		{name: "replace", files: notes, prompt: "Replace 'the cat' with \"a dog\" in a.txt"},
		{name: "replace-once", files: notes, prompt: "replace mat with rug in a.txt."},
		{name: "replace-absent", files: notes, prompt: "replace cow with dog in a.txt"},
		{name: "replace-denied", files: notes, prompt: "replace cat with dog in a.txt", denied: "edit"},
		{name: "replace-missing", files: notes, prompt: "replace cat with dog in c.txt"},
		{name: "replace-no-edit", files: notes, prompt: "replace mat with dog in a.txt", tools: []string{"list", "read"}},
		{name: "replace-huge", files: notes, prompt: "replace x = 1 with x = 2 in huge.txt"},
		{name: "other", files: goProject, prompt: "Implement a parser and commit it."},
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

// changes describes the files that differ from before.
func changes(t *testing.T, dir string, before map[string]string) string {
	t.Helper()
	var out strings.Builder
	err := bench{dir: dir}.walk(func(rel string) {
		data, err := os.ReadFile(filepath.Join(dir, rel))
		if err != nil {
			t.Error(err)
		}
		if old, ok := before[rel]; !ok || old != string(data) {
			fmt.Fprintf(&out, "\nCHANGED %s:\n%s\n", rel, data[:min(len(data), 200)])
		}
	})
	if err != nil {
		t.Error(err)
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
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

func TestGuideAnswersTheLastUserMessage(t *testing.T) {
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
	isNew := strings.Contains(answer, "go.mod") && strings.Contains(transcript, "[1] list")
	if !isNew || strings.Contains(answer, "old-entry") {
		t.Errorf("the answer is from an older task:\n%s", transcript)
	}
}

func TestGuideIsDeterministicAndIDsDiffer(t *testing.T) {
	b := bench{tools: allTools}
	first := []llm.Message{user("ls")}
	_, one := readStream(t, b.request(first))
	_, again := readStream(t, b.request(first))
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("two answers to the same request differ:\n%s", diff)
	}
	answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "x"}}}
	_, later := readStream(t, b.request(append(first, answer, user("ls"))))
	if one[0].ID == later[0].ID {
		t.Errorf("call id %s occurs in two turns", one[0].ID)
	}
}

// TestGuideEndsEveryTask covers tools that never return anything useful.
func TestGuideEndsEveryTask(t *testing.T) {
	prompts := []string{
		"What does this project do?", "find Count", "read nothing.txt", "replace a with b in c.txt", "ls", "find *.go", "",
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
					text, calls := readStream(t, b.request(messages))
					if len(calls) == 0 {
						if !strings.HasPrefix(text, introduction) || len(text) < len(introduction)+20 {
							t.Errorf("answer: %q", text)
						}
						return
					}
					if turn == maxTurns {
						t.Fatalf("no answer after %d turns", maxTurns)
					}
					for _, c := range calls {
						messages = append(messages, assistantCall(c), llm.Message{Role: llm.RoleTool, Parts: []llm.Part{outcome(c)}})
					}
				}
			})
		}
	}
}

func TestStreamAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range (Model{}).Stream(ctx, &llm.Request{}) {
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Class != llm.Aborted {
			t.Errorf("got %v", err)
		}
	}
}

// TestRules: texts and the first call of the rule that answers them.
func TestRules(t *testing.T) {
	tests := []struct{ text, want string }{
		{"replace X with Y in FILE", `read {"filePath":"FILE"}`},
		{"Replace `a b` with `c` in `d e`.", `read {"filePath":"d e"}`},
		{"replace foo with \"\" in the file x/y.go", `read {"filePath":"x/y.go"}`},
		{"replace the parser", ""},
		{"where is parseConfig?", `grep {"pattern":"parseConfig"}`},
		{"find foo()", `grep {"pattern":"foo\\(\\)"}`},
		{"grep \"foo in bar\"", `grep {"pattern":"foo in bar"}`},
		{"show me the file a.txt", `read {"filePath":"a.txt"}`},
		{"Read README.md and tell me what this project does", `list {}`},
		{"list", `list {}`},
		{"list src/", `list {"path":"src/"}`},
		{"What is this?", `list {}`},
		{"write a poem with rhymes", ""},
		{"", ""},
		{strings.Repeat("read a ", maxCommand), ""},
	}
	for _, tt := range tests {
		got := ""
		if _, calls := readStream(t, bench{tools: allTools}.request([]llm.Message{user(tt.text)})); len(calls) > 0 {
			got = calls[0].Name + " " + string(calls[0].Input)
		}
		if got != tt.want {
			t.Errorf("%.80q: call %s, want %s", tt.text, got, tt.want)
		}
	}
}

// FuzzGuide feeds arbitrary user texts and tool results: every task ends with an answer.
func FuzzGuide(f *testing.F) {
	f.Add("What does this project do?", "/w/\n  README.md\n  main.go\n", "1: # A\n2: \n3: text\n")
	f.Add("replace a with b in c", "", "1: a\n")
	f.Add("find Foo", "x:\n  Line 1: Foo\n", "")
	f.Fuzz(func(t *testing.T, prompt, first, later string) {
		b := bench{tools: allTools}
		messages := []llm.Message{user(prompt)}
		for turn := range maxTurns + 1 {
			_, calls := readStream(t, b.request(messages))
			if len(calls) == 0 {
				return
			}
			if turn == maxTurns {
				t.Fatalf("no answer after %d turns", maxTurns)
			}
			for i, call := range calls {
				text := first
				if i > 0 || turn > 0 {
					text = later
				}
				messages = append(messages, assistantCall(call), result(call.ID, text))
			}
		}
	})
}

func user(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: text}}}
}

func assistantCall(c llm.ToolCallEvent) llm.Message {
	return llm.Message{
		Role:  llm.RoleAssistant,
		Parts: []llm.Part{llm.ToolCall{ID: c.ID, Name: c.Name, Input: c.Input}},
	}
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{
		llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: text}}},
	}}
}

// stringArguments returns the members of a JSON object as text: strings without quotes, other values as written.
func stringArguments(input jsontext.Value) map[string]string {
	var members map[string]jsontext.Value
	_ = json.Unmarshal(input, &members)
	out := map[string]string{}
	for key, value := range members {
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		out[key] = s
	}
	return out
}
