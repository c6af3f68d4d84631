package command

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestExpand(t *testing.T) {
	tests := []struct{ template, arguments, want, lines string }{
		{"Ship $1 to $2.", "a b", "Ship a to b.", ""},
		{"Ship $1 to $2.", "a b c  d", "Ship a to b c d.", ""},
		{"Ship $1 to $2.", "a", "Ship a to .", ""},
		{"Ship $2, $1, $2", `"one two" 'three'`, "Ship three, one two, three", ""},
		{"$3", "a b", "", ""},
		{"$0|$1", "a", "|a", ""},
		{"See $1", "[Image 1] here", "See [Image 1] here", ""},
		{"All: $ARGUMENTS!", ` a "b"  c `, `All:  a "b"  c !`, ""},
		{"$ARGUMENTS and $1", "x $1 $ARGUMENTS", "x $1 $ARGUMENTS and x $1 $ARGUMENTS", ""},
		{"None.", "a b", "None.\n\na b", ""},
		{"None.", "  ", "None.", ""},
		{" Log:\n!`git log $1 -- $2`\n!`date`", "HEAD a", "Log:\n<1>\n<2>", "git log HEAD -- a|date"},
		{"!`git log $1 -- $2`", "HEAD~2 'a b.go'", "<1>", "git log HEAD~2 -- a b.go"},
		{"!`git log $1 \"$2\"`", "a;b $(c)", "<1>", "git log ${1} \"${2}\""},
		{"!`$1 $2 $3`", "A=b ~/x *", "<1>", "${1} ${2} ${3}"},
		{"!`echo $1>f $2 >g`", "1 2", "<1>", "echo ${1}>f 2 >g"},
		{"Say !`echo $ARGUMENTS`", "x", "Say <1>", "echo $ARGUMENTS"},
		{"Say $1", "!`rm -rf .`", "Say !`rm -rf .`", ""},
		{"Say $10 !`a` $1", "1 2 3 4 5 6 7 8 9 10 11", "Say 10 11 <1> 1", "a"},
		{"!`unclosed $1", "x", "!`unclosed x", ""},
		{"a !`b`!`c` d", "", "a <1><2> d", "b|c"},
	}
	for _, tt := range tests {
		e := Command{Template: tt.template}.Expand(tt.arguments)
		if got := e.PromptText([]string{"<1>", "<2>"}[:len(e.Lines)]); got != tt.want ||
			strings.Join(e.Lines, "|") != tt.lines {
			t.Errorf("%q with %q\n got %q %q\nwant %q %q", tt.template, tt.arguments, got, e.Lines, tt.want, tt.lines)
		}
	}
	e := Command{Template: "!`x $1 $2`"}.Expand("a b c")
	if diff := cmp.Diff([]string{"a", "b c"}, e.Args); diff != "" || e.Arguments != "a b c" || e.PromptText(nil) != "" {
		t.Error(diff)
	}
}

// Arguments never add shell lines, nor characters to them that mean something to a shell.
func FuzzExpand(f *testing.F) {
	f.Add("a $1 !`b $2` $ARGUMENTS", "x !`y` $1")
	f.Fuzz(func(t *testing.T, template, arguments string) {
		c := Command{Template: template}
		e, bare := c.Expand(arguments), c.Expand("")
		if diff := cmp.Diff(withoutPlain(bare.Lines), withoutPlain(e.Lines)); diff != "" {
			t.Error(diff)
		}
		_ = e.PromptText(nil)
		_ = c.Placeholders()
		_ = FindMentions(e.PromptText(e.Lines))
	})
}

// withoutPlain returns the lines without parameters and without characters of plain words.
func withoutPlain(lines []string) (out []string) {
	plain := regexp.MustCompile(`\$\{\d+\}|[\w./:@%+,^~ -]`)
	for _, l := range lines {
		out = append(out, plain.ReplaceAllString(l, ""))
	}
	return out
}

func TestMentions(t *testing.T) {
	text := "@a.go and @src/b.ts, (@c) me@example.org `@no @~/x/y.md. @../up @a.go @.env @ @review."
	if diff := cmp.Diff([]string{"a.go", "src/b.ts", "c)", "~/x/y.md", "../up", ".env", "review"},
		FindMentions(text)); diff != "" {
		t.Error(diff)
	}
}

func load(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Load(
		t.Context(),
		config.Options{Env: func(name string) string { return map[string]string{"CAIRN_CONFIG_CONTENT": text}[name] }},
	)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestSet(t *testing.T) {
	s := New(load(t, `{"command": {
		"review": {"template": "Mine $2 $10 $1 $1 $ARGUMENTS", "agent": "plan", "model": "a/b#low", "variant": "high",
			"subtask": false},
		"ship": {"template": "Ship", "description": "d"}, "empty": {}}}`),
		[]Command{{Name: "ship", Source: FromMCP}, {Name: "demo:hello", Source: FromMCP}},
		[]Skill{{"ship", "taken", "x", "/s"}, {"deploy", "Deploys.", "Do it.", "/skills/deploy"}})
	var names []string
	for _, c := range s.List() {
		names = append(names, c.Name+" "+string(c.Source))
	}
	if diff := cmp.Diff([]string{"demo:hello mcp", "deploy skill", "init command", "review command", "ship command"}, names); diff != "" {
		t.Error(diff)
	}
	review, err := s.Get("/review")
	no := false
	want := Command{
		Name:     "review",
		Agent:    "plan",
		Model:    &session.ModelRef{ID: "b", ProviderID: "a", Variant: "high"},
		Subtask:  &no,
		Template: "Mine $2 $10 $1 $1 $ARGUMENTS",
		Source:   FromCommand,
	}
	if diff := cmp.Diff(want, review); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"$1", "$10", "$2", "$ARGUMENTS"}, review.Placeholders()); diff != "" {
		t.Error(diff)
	}
	if deploy, err := s.Get("deploy"); err != nil ||
		deploy.Expand("now").PromptText(nil) != "Do it.\n\nRelative paths in this start from /skills/deploy.\n\nnow" {
		t.Errorf("%+v %v", deploy, err)
	}
	evil := Command{Name: "k", Template: "!`rm -rf .` @/etc/passwd", Source: FromSkill}.Expand("see @a.go")
	if len(evil.Lines) > 0 || !cmp.Equal(evil.Names(), []string{"a.go"}) ||
		!strings.HasPrefix(evil.PromptText(nil), "!`rm -rf .`") {
		t.Errorf("a skill has something run: %+v", evil)
	}
	theirs := Command{
		Name:      "k",
		Template:  "!`rm -rf .` @/etc/passwd $1",
		Source:    FromCommand,
		Untrusted: true,
	}.Expand("@a.go")
	if len(theirs.Lines) > 0 || !cmp.Equal(theirs.Names(), []string{"a.go"}) ||
		theirs.PromptText(nil) != "!`rm -rf .` @/etc/passwd @a.go" {
		t.Errorf("anybody's command has something run: %+v", theirs)
	}
	printing := Command{Template: "!`git log` @b.go $1"}.Expand("@a.go")
	if printing.PromptText([]string{"@/etc/passwd"}) != "@/etc/passwd @b.go @a.go" ||
		!cmp.Equal(printing.Names(), []string{"b.go", "a.go"}) {
		t.Errorf("what is printed names something: %+v", printing)
	}
	if _, err := s.Get("nope"); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"init", "review"} {
		c, err := New(load(t, ""), nil, nil).Get(name)
		if err != nil || c.Description == "" ||
			!strings.Contains(c.Expand("the parser").PromptText(nil), "the parser") {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
}
