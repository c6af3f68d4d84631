package session

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func at(ms int64) Fact { return Fact{Timestamp: ms, SessionID: "ses_a"} }

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestApplySession(t *testing.T) {
	cost := Tokens{Input: 1, Output: 2, Reasoning: 3, Cache: CacheUsage{Read: 4, Write: 5}, Total: 99}
	for _, c := range []struct {
		name string
		do   EventData
		want string // what the row becomes, beside {"id":"ses_a",…}; "" is no change
	}{
		{
			"renamed", &Renamed{Fact: at(9), Title: "new", By: "user"},
			`"updated":3},"title":"new","location":{"directory":"/w"},"titledBy":"user"`,
		},
		{
			"tagged", &Tagged{Fact: at(9), Tags: []string{"a", "b"}},
			`"updated":3},"title":"","location":{"directory":"/w"},"tags":["a","b"]`,
		},
		{"archived", &Archived{Fact: at(9), At: 8}, `"updated":3,"archived":8}`},
		{
			"rules", &PermissionSet{Fact: at(9), Rules: []Rule{{"a", "b", Deny}}},
			`"permission":[{"action":"a","resource":"b","effect":"deny"}]`,
		},
		{"budget", &BudgetSet{Fact: at(9), Budget: &Budget{Turns: 3}}, `"budget":{"turns":3}`},
		{
			"todos", &TodosSet{Fact: at(9), Todos: []Todo{{"a", TodoPending, TodoLow}}},
			`"todos":[{"content":"a","status":"pending","priority":"low"}]`,
		},
		{"metadata", &MetadataSet{Fact: at(9), Metadata: jsontext.Value(`{"a":1}`)}, `"metadata":{"a":1}`},
		{"agent", &AgentSwitched{Fact: at(9), Agent: "plan"}, `"agent":"plan"`},
		{
			"instruction", &InstructionDiscovered{at(9), NestedInstruction{"/w/a/AGENTS.md", "/w"}},
			`"nested":[{"path":"/w/a/AGENTS.md","root":"/w"}]`,
		},
		{
			"entry", &ContextEntrySet{Fact: at(9), ContextEntry: ContextEntry{"k", jsontext.Value(`"v"`)}},
			`"entries":[{"key":"k","value":"v"}]`,
		},
		{
			"shared files", &ContextEntrySet{Fact: at(9), ContextEntry: ContextEntry{KeySharedFiles, jsontext.Value(`[]`)}},
			`"updated":3}`,
		},
		{
			"summarized", &Summarized{
				Fact: at(9), ProseSummary: ProseSummary{Text: "Done.", Generated: true, Through: "msg_1"},
				Request: &RequestCost{Cost: Dollar, Tokens: cost},
			}, `"time":{"created":3,"updated":3},"title":"","summary":{"text":"Done.","generated":true,"through":"msg_1"}`,
		},
		{
			"model", &ModelSwitched{Fact: at(9), Model: ModelRef{ID: "m", ProviderID: "p"}},
			`"model":{"id":"m","providerID":"p"}`,
		},
		{
			"moved", &Moved{Fact: at(9), Location: Location{Directory: "/x"}, Subdirectory: "y"},
			`"location":{"directory":"/x"},"subpath":"y"`,
		},
		{
			"ended", &StepEnded{TurnFact: TurnFact{Fact: at(9)}, Cost: Dollar, Tokens: cost},
			`"cost":1,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}`,
		},
		{
			"failed", &StepFailed{TurnFact: TurnFact{Fact: at(9)}, Cost: Dollar, Tokens: &cost},
			`"cost":1,"tokens":{"input":1`,
		},
		{"failed free", &StepFailed{TurnFact: TurnFact{Fact: at(9)}}, `"updated":9`},
		{"staged", &RevertStaged{Fact: at(9), Revert: Revert{MessageID: "msg_1"}}, `"revert":{"messageID":"msg_1"}`},
		{
			"admitted for another agent", &PromptAdmitted{Fact: at(9), Prompt: Prompt{Agent: "plan"}},
			`"projectID":"","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},` +
				`"time":{"created":3,"updated":9}`,
		},
		{
			"promoted for another",
			&Prompted{Fact: at(9), Prompt: Prompt{Agent: "plan", Model: &ModelRef{ID: "m", ProviderID: "p"}}},
			`"agent":"plan","model":{"id":"m","providerID":"p"}`,
		},
		{
			"a turn begins", &StepStarted{TurnFact: TurnFact{Fact: at(9)}},
			`"changes":{"additions":0,"deletions":0,"files":0}`,
		},
		{"promoted, admitted long ago", &Prompted{Fact: at(1)}, `"updated":3`},
		{
			"job", &JobStarted{Fact: at(9), Job: Job{ID: "job_1", Command: "x", Status: JobFailed}},
			`"jobs":[{"id":"job_1","command":"x","directory":"","outputPath":"","status":"running","time":{"started":9}}]`,
		},
		{"no such job", &JobEnded{Fact: at(9), JobID: "job_1", Status: JobEndedItself}, ""},
		{"text", &TextEnded{TurnFact: TurnFact{Fact: at(9)}}, ""},
		{"context", &ContextUpdated{Fact: at(9)}, ""},
		{"interrupted", &Interrupted{Fact: at(9)}, ""},
	} {
		s := &Session{ID: "ses_a", Time: SessionTime{Created: 3, Updated: 3}, Location: Location{Directory: "/w"}}
		before := encoded(t, s)
		changed := s.Apply(c.do)
		after := encoded(t, s)
		switch {
		case c.want == "" && (changed || before != after):
			t.Errorf("%s: changed to %s", c.name, after)
		case c.want != "" && (!changed || !strings.Contains(after, c.want)):
			t.Errorf("%s: %v %s, want %s", c.name, changed, after, c.want)
		}
	}
}

// An automatic title never replaces one that a user gave.
func TestApplyTitles(t *testing.T) {
	s := &Session{}
	for _, c := range []struct {
		by, title, want string
		changed         bool
	}{
		{"auto", "a", "a", true},
		{"auto", "b", "b", true},
		{"user", "c", "c", true},
		{"auto", "d", "c", false},
		{"user", "e", "e", true},
	} {
		if got := s.Apply(&Renamed{Title: c.title, By: c.by}); got != c.changed || s.Title != c.want {
			t.Errorf("%s by %s: %v, the title is %s", c.title, c.by, got, s.Title)
		}
	}
}

func TestBegin(t *testing.T) {
	for _, c := range []struct {
		do   EventData
		want string
	}{
		{
			&Prompted{Fact: at(5), MessageID: "msg_1", Prompt: Prompt{Text: "hi"}},
			`{"id":"msg_1","time":{"created":5},"type":"user","text":"hi"}`,
		},
		{
			&SyntheticAdded{Fact: at(5), MessageID: "msg_1", Text: "x"},
			`{"id":"msg_1","time":{"created":5},"type":"synthetic","sessionID":"ses_a","text":"x"}`,
		},
		{
			&ContextUpdated{Fact: at(5), MessageID: "msg_1", Text: "x"},
			`{"id":"msg_1","time":{"created":5},"type":"system","text":"x"}`,
		},
		{
			&ShellStarted{Fact: at(5), MessageID: "msg_1", CallID: "c", Command: "ls"},
			`{"id":"msg_1","time":{"created":5},"type":"shell","callID":"c","command":"ls","output":""}`,
		},
		{
			&AgentSwitched{Fact: at(5), MessageID: "msg_1", Agent: "a"},
			`{"id":"msg_1","time":{"created":5},"type":"agent-switched","agent":"a"}`,
		},
		{
			&ModelSwitched{Fact: at(5), MessageID: "msg_1", Model: ModelRef{ID: "m", ProviderID: "p"}},
			`{"id":"msg_1","time":{"created":5},"type":"model-switched","model":{"id":"m","providerID":"p"}}`,
		},
		{
			&CompactionEnded{Fact: at(5), MessageID: "msg_1", Reason: "auto", Text: "s", Recent: "r"},
			`{"id":"msg_1","time":{"created":5},"type":"compaction","reason":"auto","summary":"s","recent":"r"}`,
		},
		{
			&StepStarted{TurnFact: TurnFact{Fact: at(5), AssistantMessageID: "msg_1"}, Agent: "a", Snapshot: "abc"},
			`{"id":"msg_1","time":{"created":5},"type":"assistant","agent":"a","model":{"id":"","providerID":""},"content":[],"snapshot":{"start":"abc"}}`,
		},
	} {
		m := Begin(c.do, 7)
		if got := encoded(t, m); got != c.want || m.Meta().Seq != 7 {
			t.Errorf("%s: got %s #%d, want %s", c.do.Kind(), got, m.Meta().Seq, c.want)
		}
	}
	for _, k := range ListKinds() {
		switch k {
		case KindPrompted, KindSynthetic, KindContextUpdated, KindShellStarted, KindAgentSwitched, KindModelSwitched,
			KindCompactionEnded, KindStepStarted:
		default:
			if m := Begin(newData(k), 1); m != nil {
				t.Errorf("%s begins %T", k, m)
			}
		}
	}
}

// The events of one turn, step by step. An event that is repeated, late or of another turn changes nothing.
func TestApplyTurn(t *testing.T) {
	story := []EventData{
		&TextStarted{TurnFact: TurnFact{Fact: at(2)}, TextID: "t", PartID: "prt_t"},
		&ItemCheckpointed{TurnFact: TurnFact{Fact: at(3)}, PartID: "prt_t", Offset: 0, Text: "hel"},
		&ItemCheckpointed{TurnFact: TurnFact{Fact: at(3)}, PartID: "prt_t", Offset: 3, Text: "lo"},
		&TextEnded{TurnFact: TurnFact{Fact: at(4)}, TextID: "t", PartID: "prt_t", Text: "hello!"},
		&ReasoningStarted{
			TurnFact: TurnFact{Fact: at(4)}, ReasoningID: "r", PartID: "prt_r",
			ProviderMetadata: jsontext.Value(`{"a":1}`),
		},
		&ReasoningEnded{TurnFact: TurnFact{Fact: at(5)}, ReasoningID: "r", PartID: "prt_r", Text: "hm"},
		&ToolInputStarted{TurnFact: TurnFact{Fact: at(5)}, CallID: "c", PartID: "prt_c", Name: "read"},
		&ItemCheckpointed{TurnFact: TurnFact{Fact: at(5)}, PartID: "prt_c", Offset: 0, Text: `{"pa`},
		&ToolInputEnded{TurnFact: TurnFact{Fact: at(6)}, CallID: "c", PartID: "prt_c", Text: `{"path":"x"}`},
		&ToolInputStarted{TurnFact: TurnFact{Fact: at(6)}, CallID: "d", PartID: "prt_d", Name: "edit"},
		&ToolCalled{
			TurnFact: TurnFact{Fact: at(7)}, CallID: "c", PartID: "prt_c", Tool: "read",
			Input: jsontext.Value(`{"path":"x"}`), Provider: CallProvider{Metadata: jsontext.Value(`{"m":1}`)},
		},
		&ToolProgress{
			TurnFact: TurnFact{Fact: at(8)}, CallID: "c", PartID: "prt_c", Structured: jsontext.Value(`{"n":1}`),
			Content: TextContent("…"), Title: "reading",
		},
		&ToolSuccess{
			TurnFact: TurnFact{Fact: at(9)}, CallID: "c", PartID: "prt_c", Structured: jsontext.Value(`{"n":2}`),
			Content: TextContent("text"), OutputPaths: []string{"/o"},
			Provider: CallProvider{Metadata: jsontext.Value(`{"m":2}`)},
		},
		&ToolFailed{TurnFact: TurnFact{Fact: at(9)}, CallID: "d", PartID: "prt_d", Error: *Fail(ReasonTool, "no")},
		&StepEnded{
			TurnFact: TurnFact{Fact: at(10)}, Finish: "tool-calls", Cost: Dollar, Tokens: Tokens{Input: 1},
			Files: []string{"x"}, Snapshot: "def",
		},
	}
	a := Begin(
		&StepStarted{
			TurnFact: TurnFact{Fact: at(1), AssistantMessageID: "msg_a"}, Agent: "build",
			Model: ModelRef{ID: "m", ProviderID: "p"},
		},
		1,
	).(*Assistant)
	for _, d := range story {
		before := encoded(t, a)
		turn := reflect.ValueOf(d).Elem().FieldByName("AssistantMessageID")
		turn.SetString("msg_b")
		if a.Apply(d) || encoded(t, a) != before {
			t.Errorf("%s of another turn changed this one to %s", d.Kind(), encoded(t, a))
		}
		turn.SetString("msg_a")
		if !a.Apply(d) || encoded(t, a) == before {
			t.Errorf("%s changed nothing", d.Kind())
		}
		switch d.(type) {
		case *ItemCheckpointed, *ToolInputEnded, *ToolProgress: // these replace what is there
		default:
			before = encoded(t, a)
			if a.Apply(d) || encoded(t, a) != before {
				t.Errorf("%s, repeated, changed %s to %s", d.Kind(), before, encoded(t, a))
			}
		}
	}
	const want = `{"id":"msg_a","time":{"created":1,"completed":10},"type":"assistant","agent":"build","model":{"id":"m","providerID":"p"},"content":[` +
		`{"type":"text","id":"t","partID":"prt_t","text":"hello!","time":{"created":2,"completed":4}},` +
		`{"type":"reasoning","id":"r","partID":"prt_r","text":"hm","providerMetadata":{"a":1},"time":{"created":4,"completed":5}},` +
		`{"type":"tool","id":"c","partID":"prt_c","name":"read","provider":{"executed":false,"metadata":{"m":1},"resultMetadata":{"m":2}},"state":{"status":"completed","input":{"path":"x"},"title":"reading","structured":{"n":2},"content":[{"type":"text","text":"text"}],"outputPaths":["/o"]},"time":{"created":5,"ran":7,"completed":9}},` +
		`{"type":"tool","id":"d","partID":"prt_d","name":"edit","provider":{"executed":false},"state":{"status":"error","input":{},"structured":{},"content":[],"error":{"type":"unknown","message":"no","reason":"tool"}},"time":{"created":6,"completed":9}}],` +
		`"snapshot":{"end":"def","files":["x"]},"finish":"tool-calls","cost":1,"tokens":{"input":1,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}}`
	if got := encoded(t, a); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	before := encoded(t, a)
	for _, d := range append(
		story,
		&StepFailed{TurnFact: OfTurn("msg_a"), Error: *Fail(ReasonAPI, "late")},
		&TextStarted{TurnFact: OfTurn("msg_a"), PartID: "prt_new"},
		&ToolFailed{TurnFact: OfTurn("msg_a"), PartID: "prt_c"},
		&ItemCheckpointed{TurnFact: OfTurn("msg_a"), PartID: "prt_t", Offset: -1, Text: "x"},
		&ItemCheckpointed{TurnFact: OfTurn("msg_a"), PartID: "prt_none", Text: "x"},
		&TextEnded{TurnFact: OfTurn("msg_a"), PartID: "prt_c", Text: "wrong kind"},
	) {
		if a.Apply(d) || encoded(t, a) != before {
			t.Errorf("%s, late, changed the turn to %s", d.Kind(), encoded(t, a))
		}
	}
}

// A call that is not yet one, because its arguments still arrive, makes no progress and has no success.
func TestApplyPendingCall(t *testing.T) {
	a := &Assistant{Head: Head{ID: "msg_a"}}
	a.Apply(&ToolInputStarted{TurnFact: OfTurn("msg_a"), CallID: "c", PartID: "prt_c", Name: "read"})
	before := encoded(t, a)
	for _, d := range []EventData{
		&ToolProgress{TurnFact: OfTurn("msg_a"), CallID: "c", PartID: "prt_c", Title: "early"},
		&ToolSuccess{TurnFact: OfTurn("msg_a"), CallID: "c", PartID: "prt_c", Title: "early"},
	} {
		if a.Apply(d) || encoded(t, a) != before {
			t.Errorf("%s changed a pending call to %s", d.Kind(), encoded(t, a))
		}
	}
}

// A checkpoint that leaves a gap is ignored; one that overlaps replaces what follows its offset.
func TestApplyCheckpoints(t *testing.T) {
	a := &Assistant{Head: Head{ID: "msg_a"}}
	a.Apply(&TextStarted{TurnFact: OfTurn("msg_a"), PartID: "prt_t"})
	for _, c := range []struct {
		offset int
		text   string
		ok     bool
		want   string
	}{
		{0, "abc", true, "abc"},
		{5, "x", false, "abc"},
		{-1, "x", false, "abc"},
		{3, "de", true, "abcde"},
		{3, "de", true, "abcde"},
		{1, "Z", true, "aZ"},
	} {
		ok := a.Apply(&ItemCheckpointed{TurnFact: OfTurn("msg_a"), PartID: "prt_t", Offset: c.offset, Text: c.text})
		if got := a.Content[0].(*Text).Text; ok != c.ok || got != c.want {
			t.Errorf("%q at %d: %v %q, want %v %q", c.text, c.offset, ok, got, c.ok, c.want)
		}
	}
}

func TestChangedTurn(t *testing.T) {
	for _, k := range ListKinds() {
		d := newData(k)
		f := reflect.ValueOf(d).Elem().FieldByName("AssistantMessageID")
		if !f.IsValid() {
			continue
		}
		want := MessageID("msg_a")
		f.SetString(string(want))
		if k == KindStepStarted { // begins the message
			want = ""
		}
		if got := ChangedTurn(d); got != want {
			t.Errorf("%s changes the turn %q, want %q", k, got, want)
		}
	}
}

// Checkpoints mean the same all at once and one by one, whatever they say.
func TestCheckpointsAtOnce(t *testing.T) {
	begun := func() *Assistant {
		a := &Assistant{Head: Head{ID: "msg_a"}}
		for _, d := range []EventData{
			&TextStarted{TurnFact: TurnFact{Fact: at(1), AssistantMessageID: "msg_a"}, PartID: "prt_t"},
			&ReasoningStarted{TurnFact: TurnFact{Fact: at(1), AssistantMessageID: "msg_a"}, PartID: "prt_r"},
			&ToolInputStarted{TurnFact: TurnFact{Fact: at(1), AssistantMessageID: "msg_a"}, PartID: "prt_c"},
			&TextStarted{TurnFact: TurnFact{Fact: at(1), AssistantMessageID: "msg_a"}, PartID: "prt_over"},
			&TextEnded{TurnFact: TurnFact{Fact: at(1), AssistantMessageID: "msg_a"}, PartID: "prt_over", Text: "done"},
		} {
			a.Apply(d)
		}
		return a
	}
	pick := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "ä", "🙂", "\"\n\\", "some more"}
	parts := []PartID{"prt_t", "prt_r", "prt_c", "prt_over", "prt_none"}
	for range 2000 {
		one, all := begun(), begun()
		var cs []*ItemCheckpointed
		changed := false
		for range pick.IntN(12) {
			c := &ItemCheckpointed{
				TurnFact: OfTurn(
					"msg_a",
				), PartID: parts[pick.IntN(len(parts))], Offset: pick.IntN(8) - 1, Text: texts[pick.IntN(len(texts))],
			}
			if pick.IntN(20) == 0 {
				c.AssistantMessageID = "msg_b"
			}
			cs = append(cs, c)
			changed = one.Apply(c) || changed
		}
		if got := all.Checkpoint(cs...); got != changed || encoded(t, all) != encoded(t, one) {
			t.Fatalf("%s: %v %s, one by one %v %s", encoded(t, cs), got, encoded(t, all), changed, encoded(t, one))
		}
		if !all.IsStreaming() {
			t.Fatal("no item is open")
		}
	}
	a := begun()
	a.Apply(&StepFailed{TurnFact: TurnFact{Fact: at(2), AssistantMessageID: "msg_a"}})
	if a.Checkpoint(&ItemCheckpointed{TurnFact: OfTurn("msg_a"), PartID: "prt_t", Text: "late"}) || a.IsStreaming() {
		t.Error("a checkpoint changed a turn that has ended")
	}
}

// What is left out of a session's requests is known by its kind, or by one piece of it; facts of before name kinds
// only.
func TestExclusions(t *testing.T) {
	var s Session
	for _, step := range []struct{ exclude, want string }{
		{`{"kind":"images","through":1,"digest":"a"}`, `[{"kind":"images","through":1,"digest":"a"}]`},
		{
			`{"kind":"images","through":2,"digest":"b"}`,
			`[{"kind":"images","through":1,"digest":"a"},{"kind":"images","through":2,"digest":"b"}]`,
		},
		{
			`{"kind":"documents","through":2}`,
			`[{"kind":"images","through":1,"digest":"a"},{"kind":"images","through":2,"digest":"b"},{"kind":"documents","through":2}]`,
		},
		{
			`{"kind":"images","through":3,"digest":"a"}`,
			`[{"kind":"images","through":2,"digest":"b"},{"kind":"documents","through":2},{"kind":"images","through":3,"digest":"a"}]`,
		},
		{`{"kind":"images","through":4}`, `[{"kind":"documents","through":2},{"kind":"images","through":4}]`},
		{
			`{"kind":"images","through":5,"digest":"c"}`,
			`[{"kind":"documents","through":2},{"kind":"images","through":4},{"kind":"images","through":5,"digest":"c"}]`,
		},
		{`{"kind":"images","through":6}`, `[{"kind":"documents","through":2},{"kind":"images","through":6}]`},
	} {
		var x Exclusion
		if err := json.Unmarshal([]byte(step.exclude), &x); err != nil {
			t.Fatal(err)
		}
		s.Apply(&Retried{Exclude: &x})
		if got, err := json.Marshal(s.Excluded); err != nil || string(got) != step.want {
			t.Errorf("%s: %s, want %s (%v)", step.exclude, got, step.want, err)
		}
	}
}

// An import is not ephemeral: the command that would delete it is elsewhere.
func TestImportedIsNotEphemeral(t *testing.T) {
	s := &Session{Ephemeral: true}
	if !s.Apply(&Imported{Log: &LogImport{}}) || s.Ephemeral {
		t.Error("the imported session is ephemeral")
	}
}
