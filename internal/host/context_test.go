package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// newWindowHome makes a home whose model has a context window of 40,000 tokens.
func newWindowHome(t *testing.T) (string, *vendor) {
	t.Helper()
	home, v := newHome(t)
	close(v.released)
	write(t, filepath.Join(home, "config", "cairn.json"), fmt.Sprintf(`{
  "model": "mock/main",
  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "k"},
    "models": {"main": {"name": "Main", "limit": {"context": 40000, "output": 4000}}}}}
}`, v.URL))
	write(t, filepath.Join(home, "project", "AGENTS.md"), "Use tabs.\n")
	return home, v
}

// The request that is shown is the one that the next turn sends: before the first turn, in a conversation, and after a
// source of the context has changed. Showing it sends and stores nothing.
func TestNextRequest(t *testing.T) {
	home, v := newWindowHome(t)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	id, contexts := create(t, c, "Work"), api.Contexts{Client: c.API}
	key := "sk-ant-api03-" + strings.Repeat("abcdefghij0123456789", 4) + "-AA"
	steps := []struct {
		name, prompt string
		before       func()
		want         []string // in the texts
		state        string   // of AGENTS.md
	}{
		{name: "first turn", prompt: "first", want: []string{"Use tabs.", "first"}},
		{name: "conversation", prompt: "second", want: []string{"Hello.", "second"}},
		{
			name: "changed source", prompt: "my key is " + key,
			before: func() { write(t, filepath.Join(home, "project", "AGENTS.md"), "Use blanks.\n") },
			want:   []string{"Use tabs.", "Use blanks."}, state: "changed",
		},
		{
			name: "compaction", prompt: "third", want: []string{
				"Use blanks.", "<summary>\n## Goal\n- Hello.", "1. first",
				"third",
			},
			before: func() {
				if _, err := c.API.Compact(t.Context(), id, api.CompactRequest{}); err != nil {
					t.Fatal(err)
				}
				if err := c.API.Wait(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			},
		},
	}
	for _, step := range steps {
		if step.before != nil {
			step.before()
		}
		request := say(step.prompt)
		request.Resume = new(bool)
		if _, err := c.API.Prompt(t.Context(), id, request); err != nil {
			t.Fatal(err)
		}
		events, asked := countEvents(t, c, id), v.asked.Load()
		r, err := contexts.NextRequest(t.Context(), id, true)
		if err != nil {
			t.Fatal(err)
		}
		if v.asked.Load() != asked || countEvents(t, c, id) != events {
			t.Errorf("%s: the model was asked, or something was stored", step.name)
		}
		checkReport(t, r)
		text := fmt.Sprint(r.Request)
		for _, want := range step.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", step.name, want, text)
			}
		}
		if strings.Contains(text, "sk-ant-") {
			t.Errorf("%s: the texts have a key", step.name)
		}
		if got := findSource(t, r, filepath.Join(home, "project", "AGENTS.md")).State; got != step.state {
			t.Errorf("%s: the state of AGENTS.md is %q", step.name, got)
		}
		if err := c.API.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		sent := newestPrefix(t, c, id)
		if sent.Hash != r.Prefix.Hash || sent.System != r.Prefix.System || sent.Tools != r.Prefix.Tools ||
			sent.Bytes != r.Bytes || sent.Changed != r.Prefix.Changed {
			t.Errorf("%s: sent %+v, shown %+v", step.name, sent, r.Prefix)
		}
	}
	if _, err := contexts.NextRequest(t.Context(), "ses_000000000000abcdefghijklmn", false); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound},
	) {
		t.Errorf("an unknown session: %v", err)
	}
}

// checkReport checks that the sources account for the request.
func checkReport(t *testing.T, r api.ContextRequest) {
	t.Helper()
	bytes, tokens := int64(0), int64(0)
	for _, s := range r.Sources {
		bytes, tokens = bytes+s.Bytes, tokens+s.Tokens
	}
	if missing := r.Bytes - bytes; missing < 0 || missing > 20 { // blank lines between the sources
		t.Errorf("the sources have %d of %d bytes", bytes, r.Bytes)
	}
	if tokens < r.Tokens*95/100 || tokens > r.Tokens*105/100 {
		t.Errorf("the sources have %d of %d tokens", tokens, r.Tokens)
	}
	if w := r.Window; w.Size != 40_000 || w.Compact != 36_000 || w.Room != 4000 || w.Fill <= 0 || r.Compacts {
		t.Errorf("the window is %+v", w)
	}
}

func findSource(t *testing.T, r api.ContextRequest, name string) api.ContextSource {
	t.Helper()
	for _, s := range r.Sources {
		if s.Name == name {
			return s
		}
	}
	t.Errorf("%s is not among %v", name, r.Sources)
	return api.ContextSource{}
}

func countEvents(t *testing.T, c *client.Connection, id session.ID) int {
	t.Helper()
	h, err := c.API.History(t.Context(), id, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return len(h.Data)
}

func newestPrefix(t *testing.T, c *client.Connection, id session.ID) (p session.CachePrefix) {
	t.Helper()
	h, err := c.API.History(t.Context(), id, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range h.Data {
		if s, ok := e.Data.(*session.StepStarted); ok && s.Prefix != nil {
			p = *s.Prefix
		}
	}
	return p
}

// Each reason for which an instruction file is in the context, or is not, is named.
func TestExplainInstruction(t *testing.T) {
	home, _ := newWindowHome(t)
	project := filepath.Join(home, "project")
	for name, text := range map[string]string{
		"project/CLAUDE.md": "x", "project/sub/AGENTS.md": "x", "project/notes.md": "x", "elsewhere/AGENTS.md": "x",
		"config/AGENTS.md": "Global.", ".claude/CLAUDE.md": "x", "library/x.c": "x",
		"config/skill/bake/SKILL.md": "---\nname: bake\ndescription: bakes\n---\nBake.\n",
		"config/cairn.jsonc":         `{"references": {"lib": {"path": "~/library", "description": "code"}}}`,
		"config/agent/review.md":     "---\ndescription: reviews\n---\nReview.\n",
	} {
		write(t, filepath.Join(home, name), text)
	}
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	contexts := api.Contexts{Client: c.API}
	tests := []struct {
		file     string
		included bool
		want     string
	}{
		{filepath.Join(project, "AGENTS.md"), true, "project: a file of the directory itself"},
		{"AGENTS.md", true, "project: a file of the directory itself"},
		{filepath.Join(home, "config", "AGENTS.md"), true, "global"},
		{filepath.Join(home, ".claude", "CLAUDE.md"), false, "hidden by " + filepath.Join(home, "config", "AGENTS.md")},
		{"CLAUDE.md", false, "hidden by " + filepath.Join(project, "AGENTS.md")},
		{"sub/AGENTS.md", false, "nested"},
		{filepath.Join(home, "elsewhere", "AGENTS.md"), false, "outside of the project"},
		{"notes.md", false, "no rule"},
		{"../project/none/CONTEXT.md", false, "does not exist"},
		{filepath.Join(home, "config", "skill", "bake", "SKILL.md"), false, "the skill bake"},
		{filepath.Join(home, "config", "agent", "review.md"), false, "the prompt of the agent review"},
		{filepath.Join(home, "library", "x.c"), false, "the reference lib"},
		{"https://127.0.0.1:1/rules.md", false, "does not name this address"},
	}
	for _, test := range tests {
		v, err := contexts.ExplainInstruction(t.Context(), test.file)
		if err != nil {
			t.Fatal(err)
		}
		if v.Included != test.included || !strings.Contains(v.Rule+"; "+v.Reason, test.want) {
			t.Errorf("%s: %+v, want %s", test.file, v, test.want)
		}
	}
	write(t, filepath.Join(project, "cairn.json"), `{"instructions": ["~/elsewhere/AGENTS.md"]}`)
	v, err := contexts.ExplainInstruction(t.Context(), filepath.Join(home, "elsewhere", "AGENTS.md"))
	if err != nil || v.Included || !strings.Contains(v.Reason, "not trusted") {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := os.Remove(filepath.Join(project, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if v, err := contexts.ExplainInstruction(t.Context(), "CLAUDE.md"); err != nil || !v.Included {
		t.Errorf("got %+v, %v", v, err)
	}
}

// A session has the date of its time zone, and so have its child sessions and copies. The two zones never have the same
// date.
func TestTimeZoneOfASession(t *testing.T) {
	home, _ := newWindowHome(t)
	write(t, filepath.Join(home, "config", "cairn.json"), `{"timezone": "Pacific/Pago_Pago"}`)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	date := func(id session.ID) string {
		t.Helper()
		r, err := api.Contexts{Client: c.API}.NextRequest(t.Context(), id, true)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(fmt.Sprint(r.Request), "Today is ")
		day, _, _ := strings.Cut(rest, ".")
		return day
	}
	at := func(zone session.TimeZone) string { return zone.ConvertTime(time.Now()).Format("Mon Jan 2 2006") }
	plain := create(t, c, "Work")
	c.API.Timezone = "Pacific/Kiritimati"
	zoned, request := create(t, c, "Work"), api.CreateSession{}
	c.API.Timezone = ""
	request.ParentID = zoned
	child, err := c.API.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := api.Forks{Client: c.API}.ForkSession(t.Context(), zoned, api.ForkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for id, zone := range map[session.ID]session.TimeZone{
		plain: "Pacific/Pago_Pago", zoned: "Pacific/Kiritimati",
		child.ID: "Pacific/Kiritimati", fork.ID: "Pacific/Kiritimati",
	} {
		before, got, after := at(zone), date(id), at(zone) // the day may end meanwhile
		if got != before && got != after {
			t.Errorf("the date in %s is %q, want %q", zone, got, after)
		}
	}
	_, err = c.API.Create(t.Context(), api.CreateSession{Timezone: "Mars/Base"})
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeInvalid ||
		!strings.Contains(e.Message, `unknown time zone "Mars/Base"`) {
		t.Errorf("an unknown zone: %v", err)
	}
}
