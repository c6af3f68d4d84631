package opencode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// log numbers facts as the events of one session.
func log(facts ...session.EventData) (events []*session.Event) {
	for i, d := range facts {
		d.Stamp().SessionID, d.Stamp().Timestamp = "ses_1", int64(i)+1
		events = append(events, &session.Event{SessionID: "ses_1", Seq: int64(i), Data: d})
	}
	return events
}

// brief describes an event in one line.
func brief(e Event) string {
	switch p := e.Properties.(type) {
	case SessionInfo:
		return map[string]string{"session.created": "S+", "session.updated": "S~", "session.deleted": "S-"}[e.Type]
	case MessageInfo:
		switch i := p.Info.(type) {
		case *User:
			if i.Summary != nil {
				return "U+sum"
			}
			return "U"
		case *Assistant:
			s := "A"
			if i.Summary {
				s = "Summary"
			}
			if i.Error != nil {
				s += "!" + i.Error.Name
			}
			if i.Finish != "" {
				s += "=" + i.Finish
			}
			if i.Time.Completed != 0 {
				s += "."
			}
			return s
		}
	case PartInfo:
		switch part := p.Part.(type) {
		case *TextPart:
			return fmt.Sprintf("[text %q]", part.Text)
		case *ToolPart:
			return fmt.Sprintf("[%s %T]", part.Tool, part.State)
		case *CompactionPart:
			s := "[compaction"
			if part.Auto {
				s += fmt.Sprintf(" auto overflow=%t", *part.Overflow)
			}
			if part.TailStartID != "" {
				s += " tail=" + string(part.TailStartID)
			}
			return s + "]"
		case *StepFinishPart:
			return "[step-finish=" + part.Reason + "]"
		default:
			return "[" + part.asHead().Type + "]"
		}
	case Status:
		return p.Status.Type
	case SessionOnly:
		if e.Type == "session.compacted" {
			return "COMPACTED"
		}
		return "IDLE"
	case MessageGone:
		return "-" + string(p.MessageID)
	case Diff:
		return "diff"
	case Delta:
		return "Δ"
	case Failure:
		return "ERROR"
	}
	return e.Type
}

func describeEvents(events []Event) string {
	var out []string
	for _, e := range events {
		out = append(out, brief(e))
	}
	return strings.Join(out, " ")
}

var model = session.ModelRef{ID: "m", ProviderID: "p"}

func created() session.EventData {
	return &session.Created{
		Info: session.Session{
			ID:        "ses_1",
			ProjectID: "abc",
			Location:  session.Location{Directory: "/w/sub"},
			Subpath:   "sub",
			Open:      true,
		},
	}
}

func admitted(id session.MessageID) session.EventData {
	return &session.PromptAdmitted{MessageID: id, Prompt: session.Prompt{
		Text: "hi\nyou", Agent: "build", Model: &model, Files: []session.File{{URI: "data:,x", Mime: "text/plain"}},
		Parts: []session.PromptPart{
			{ID: "prt_1", Type: session.PartText, Length: 2},
			{ID: "prt_2", Type: session.PartText, Index: 3, Length: 3},
			{ID: "prt_3", Type: session.PartFile},
		},
	}}
}

func promoted(id session.MessageID, agent string) session.EventData {
	return &session.Prompted{MessageID: id, Prompt: session.Prompt{Agent: agent, Model: &model}}
}

func started(id, parent session.MessageID) session.EventData {
	return &session.StepStarted{
		TurnFact: session.OfTurn(id),
		Agent:    "build",
		Model:    model,
		ParentID: parent,
		StartID:  "prt_a",
	}
}

// TestFold checks the bus events of each event of a turn, in OpenCode's order.
func TestFold(t *testing.T) {
	idle := State{Type: "idle"}
	for _, c := range []struct {
		name  string
		facts []session.EventData
		want  string // of each fact
		then  string // when the session rests
	}{
		{
			"a plain answer",
			[]session.EventData{
				created(), admitted("msg_1"), promoted("msg_1", "build"), started("msg_2", "msg_1"),
				&session.TextStarted{TurnFact: session.OfTurn("msg_2"), TextID: "t", PartID: "prt_b"},
				&session.TextEnded{TurnFact: session.OfTurn("msg_2"), TextID: "t", PartID: "prt_b", Text: "Hello "},
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop", EndID: "prt_c"},
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ |  | A S~ diff U+sum busy | [step-start] [text ""] | [text "Hello "] | ` +
				`[step-finish=stop] A=stop A=stop. busy S~ diff U+sum`,
			"idle IDLE",
		},
		{
			"prompts for other agents while the session works",
			[]session.EventData{
				created(), admitted("msg_1"), promoted("msg_1", "build"), started("msg_2", "msg_1"),
				&session.PromptAdmitted{MessageID: "msg_3", Prompt: session.Prompt{Text: "a", Agent: "plan"}},
				&session.PromptAdmitted{MessageID: "msg_4", Prompt: session.Prompt{Text: "b", Agent: "plan"}},
				&session.InputWithdrawn{MessageID: "msg_4"},
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop", EndID: "prt_c"},
				promoted("msg_3", "plan"),
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ |  | A S~ diff U+sum busy | U [text "a"] S~ | U [text "b"] S~ | ` +
				`-msg_4 | [step-start] [step-finish=stop] A=stop A=stop. busy S~ diff U+sum | S~`,
			"idle IDLE",
		},
		{
			"prompts for other agents before the session works",
			[]session.EventData{
				created(),
				&session.PromptAdmitted{MessageID: "msg_1", Prompt: session.Prompt{Text: "a", Agent: "plan"}},
				&session.InputWithdrawn{MessageID: "msg_1"},
				&session.PromptAdmitted{
					MessageID: "msg_2", Prompt: session.Prompt{Text: "b", Agent: "plan"},
					Hold: true,
				},
				promoted("msg_2", "plan"),
			},
			`S+ | S~ U [text "a"] S~ | -msg_1 S~ | U [text "b"] S~ | S~`,
			"idle IDLE",
		},
		{
			"a call, and the step behind it",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"),
				&session.ToolInputStarted{
					TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b",
					Name: "read",
				},
				&session.ToolInputEnded{TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b"},
				&session.ToolCalled{
					TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b", Tool: "read",
					Input: jsontext.Value(`{}`),
				},
				&session.ToolSuccess{TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b"},
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "tool-calls"},
				started("msg_3", "msg_1"),
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | [step-start] [read *opencode.ToolPending] |  | ` +
				`[read *opencode.ToolRunning] | [read *opencode.ToolCompleted] | ` +
				`[step-finish=tool-calls] A=tool-calls A=tool-calls. busy S~ diff U+sum | A busy`,
			"idle IDLE",
		},
		{
			"a prompt that comes while the first one is being answered",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"), admitted("msg_3"),
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop"}, started("msg_4", "msg_3"),
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | U [text "hi"] [text "you"] [file] S~ | ` +
				`[step-start] [step-finish=stop] A=stop A=stop. busy S~ diff U+sum | A busy`,
			"idle IDLE",
		},
		{
			"an answer that the vendor's filter ended",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"),
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "content-filter"},
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | ` +
				`[step-start] [step-finish=content-filter] A=content-filter A!ContentFilterError=content-filter. A!ContentFilterError=content-filter. ERROR S~ diff U+sum`,
			"idle IDLE",
		},
		{
			"a failure before the first word",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"),
				&session.StepFailed{TurnFact: session.OfTurn("msg_2"), Error: *session.Fail(session.ReasonAPI, "no")},
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | A!APIError.`,
			"ERROR idle IDLE idle IDLE",
		},
		{
			"a failure that is tried again says nothing of it",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"),
				&session.StepFailed{TurnFact: session.OfTurn("msg_2"), Error: *session.Fail(session.ReasonAPI, "no")},
				started("msg_3", "msg_1"),
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | A!APIError. | A busy`,
			"idle IDLE",
		},
		{
			"a declined call ends the work, not badly",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"),
				&session.ToolInputStarted{
					TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b",
					Name: "bash",
				},
				&session.ToolFailed{
					TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b",
					Error: *session.Fail(session.ReasonDenied, "no"),
				},
				&session.StepFailed{
					TurnFact: session.OfTurn("msg_2"),
					Error:    *session.Fail(session.ReasonDenied, "no"),
				},
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | [step-start] [bash *opencode.ToolPending] | ` +
				`[bash *opencode.ToolError] | [step-finish=tool-calls] A=tool-calls A=tool-calls. S~ diff U+sum`,
			"idle IDLE",
		},
		{
			"a declined repeat ends the work with an error",
			[]session.EventData{
				created(), admitted("msg_1"), started("msg_2", "msg_1"),
				&session.StepFailed{
					TurnFact: session.OfTurn("msg_2"),
					Error:    *session.Fail(session.ReasonDoomLoop, "no"),
				},
			},
			`S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | A!UnknownError.`,
			"ERROR idle IDLE idle IDLE",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Begin()
			var got []string
			for _, e := range log(c.facts...) {
				got = append(got, describeEvents(f.ApplyEvent(e)))
			}
			if s := strings.Join(got, " | "); s != c.want {
				t.Errorf("got\n%s\nwant\n%s", s, c.want)
			}
			if s := describeEvents(f.ApplyStatus(idle)); s != c.then {
				t.Errorf("then %s, want %s", s, c.then)
			}
		})
	}
}

// A fold that starts from rows continues without repetition, and applying its events again changes nothing.
func TestFoldFromRows(t *testing.T) {
	events := log(created(), admitted("msg_1"), started("msg_2", "msg_1"),
		&session.TextStarted{TurnFact: session.OfTurn("msg_2"), TextID: "t", PartID: "prt_b"},
		&session.TextEnded{TurnFact: session.OfTurn("msg_2"), TextID: "t", PartID: "prt_b", Text: "Hello"},
		&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop", Cost: 5})
	s := &session.Session{}
	var turn *session.Assistant
	for _, e := range events[:5] {
		s.Apply(e.Data)
		if m, ok := session.Begin(e.Data, e.Seq).(*session.Assistant); ok {
			turn = m
		} else if turn != nil {
			turn.Apply(e.Data)
		}
	}
	f := NewFold(Rows{Session: s, Turn: turn, Through: 4})
	for i, want := range []string{`[text "Hello"]`, `[step-finish=stop] A=stop A=stop. busy S~ diff`} {
		if got := describeEvents(f.ApplyEvent(events[4+i])); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f.ApplyEvent(events[5])
	if f.Session.Cost != 5 || len(turn.Content) != 1 {
		t.Errorf("the session cost %s, the turn has %d items", f.Session.Cost, len(turn.Content))
	}
}

// Any sequence of events is converted without a panic, and deterministically.
func FuzzFold(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte{2, 5, 3, 0, 9, 9, 1})
	f.Fuzz(func(t *testing.T, picks []byte) {
		play := func() string {
			menu := []func() session.EventData{
				created, func() session.EventData { return admitted("msg_1") },
				func() session.EventData { return started("msg_2", "msg_1") },
				func() session.EventData { return started("msg_3", "") },
				func() session.EventData {
					return &session.TextStarted{TurnFact: session.OfTurn("msg_2"), PartID: "prt_b"}
				},
				func() session.EventData {
					return &session.TextEnded{TurnFact: session.OfTurn("msg_3"), PartID: "prt_b", Text: "x"}
				},
				func() session.EventData {
					return &session.ToolInputStarted{TurnFact: session.OfTurn("msg_2"), PartID: "prt_c"}
				},
				func() session.EventData {
					return &session.ToolSuccess{TurnFact: session.OfTurn("msg_2"), PartID: "prt_c"}
				},
				func() session.EventData { return &session.StepEnded{TurnFact: session.OfTurn("msg_2")} },
				func() session.EventData {
					return &session.StepFailed{TurnFact: session.OfTurn("msg_3"), Error: session.Failure{Message: "no"}}
				},
				func() session.EventData { return &session.Interrupted{Error: session.Failure{Message: "no"}} },
				func() session.EventData { return &session.TodosSet{} },
				func() session.EventData { return &session.CompactionAdmitted{MessageID: "msg_5"} },
				func() session.EventData { return compactionStart(session.CompactionManual) },
				func() session.EventData { return compactionEnd("") },
				func() session.EventData { return &session.CompactionFailed{MessageID: "msg_6"} },
				func() session.EventData { return &session.CompactionUndone{MessageID: "msg_6"} },
				func() session.EventData {
					return &session.OutputsPruned{TurnFact: session.OfTurn("msg_2"), PartIDs: []session.PartID{"prt_c"}}
				},
			}
			var facts []session.EventData
			for _, p := range picks[:min(len(picks), 64)] {
				facts = append(facts, menu[int(p)%len(menu)]())
			}
			fold := Begin()
			var out []string
			for i, e := range log(facts...) {
				e.Seq = int64(picks[i] % 16)
				out = append(out, describeEvents(fold.ApplyEvent(e)), describeEvents(fold.ApplyStatus(State{Type: "idle"})))
			}
			return strings.Join(out, "\n")
		}
		if a, b := play(), play(); a != b {
			t.Errorf("got\n%s\nand\n%s", a, b)
		}
	})
}

// OpenCode sends "busy" once more when it asks the model, whether that responds or fails.
func TestRetryStatus(t *testing.T) {
	f, got := Begin(), []string(nil)
	say := func(events []Event) {
		for _, e := range events {
			if s, ok := e.Properties.(Status); ok {
				got = append(got, s.Status.Type)
			}
		}
	}
	events := log(
		created(),
		admitted("msg_1"),
		started("msg_2", "msg_1"),
		&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop"},
	)
	say(f.ApplyEvent(events[0]))
	say(f.ApplyEvent(events[1]))
	for _, s := range []string{"busy", "retry", "busy", "retry", "busy"} {
		say(f.ApplyStatus(State{Type: s}))
	}
	say(f.ApplyEvent(events[2]))
	say(f.ApplyEvent(events[3]))
	say(f.ApplyStatus(State{Type: "idle"}))
	if want := "busy busy retry busy retry busy busy idle"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// A session created over V2 is announced in both contracts' forms, V2's first and with dates; a V1 session in V1's
// only.
func TestBothContracts(t *testing.T) {
	facts := []session.EventData{
		created(), &session.AgentSwitched{MessageID: "msg_0", Agent: "plan"}, admitted("msg_1"), started("msg_2", "msg_1"),
		&session.ToolInputStarted{TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b", Name: "bash"},
		&session.PermissionAsked{Ask: session.PendingAsk{ID: "per_1", Action: "bash", Agent: "build", Time: 5}},
		&session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce},
		&session.PermissionAsked{Ask: session.PendingAsk{ID: "que_1", Questions: []session.Question{{Question: "?"}}}},
		&session.PermissionReplied{AskID: "que_1", Reply: session.ReplyReject},
		&session.PermissionReplied{AskID: "que_2", Reply: session.ReplyOnce},
		&session.TodosSet{}, &session.Renamed{Title: "t"},
		&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop"},
	}
	words := func(events []Event) (v1, v2 []string) {
		for _, e := range events {
			if strings.HasPrefix(e.Type, "session.next.") || strings.Contains(e.Type, ".v2.") {
				v2 = append(v2, fmt.Sprintf("%s.%d %v", e.Type, e.Version, e.Durable))
			} else {
				v1 = append(v1, brief(e))
			}
		}
		return v1, v2
	}
	play := func(open bool) (v1, v2 []string) {
		f := Begin()
		say := func(events []Event) {
			a, b := words(events)
			v1, v2 = append(v1, a...), append(v2, b...)
		}
		for _, e := range log(facts...) {
			if c, ok := e.Data.(*session.Created); ok {
				c.Info.Open = open
			}
			say(f.ApplyEvent(e))
		}
		say(
			f.ApplyFragment(
				&session.Fragment{
					SessionID: "ses_1",
					MessageID: "msg_2",
					PartID:    "prt_b",
					Item:      session.FragmentToolInput,
					ItemID:    "c",
					Delta:     "{",
				},
			),
		)
		say(f.ApplyProgress(&session.ToolProgress{TurnFact: session.OfTurn("msg_2"), CallID: "c"}))
		return v1, v2
	}
	ofV1, none := play(true)
	both, next := play(false)
	if len(none) > 0 || strings.Join(ofV1, " ") != strings.Join(both, " ") {
		t.Errorf("V1's words are\n%v and\n%v in a session of V2's,\nand there are %v", ofV1, both, none)
	}
	want := []string{
		"session.next.agent.switched.1 true", "session.next.prompt.admitted.1 true", "session.next.step.started.1 true",
		"session.next.tool.input.started.1 true",
		"permission.v2.asked.1 false", "permission.v2.replied.1 false", "question.v2.asked.1 false",
		"question.v2.rejected.1 false", "question.v2.replied.1 false",
		"session.next.step.ended.2 true", "session.next.tool.input.delta.0 false", "session.next.tool.progress.0 false",
	}
	if strings.Join(next, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(next, "\n"))
	}
	e := Begin().v2Events(log(&session.PermissionReplied{AskID: "per_1", Reply: session.ReplyOnce})[0])[0]
	if got := fmt.Sprint(e.Properties); got != `{"reply":"once","requestID":"per_1","sessionID":"ses_1"}` {
		t.Error(got)
	}
	e = Begin().v2Events(log(&session.AgentSwitched{MessageID: "msg_0", Agent: "plan"})[0])[0]
	if got := fmt.Sprint(e.Properties); got != `{"agent":"plan","messageID":"msg_0","sessionID":"ses_1","timestamp":"1970-01-01T00:00:00.001Z"}` {
		t.Error(got)
	}
}
