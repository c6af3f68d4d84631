package opencode

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

var summaryAs = session.SummaryAs{
	RequestID: "msg_5", StartID: "prt_6", TextID: "prt_7", EndID: "prt_8", Agent: "build", Model: &model,
	Writer: &model, Started: 7,
}

func compactionStart(reason string) *session.CompactionStarted {
	return &session.CompactionStarted{MessageID: "msg_6", Reason: reason, SummaryAs: summaryAs}
}

// compactionEnd returns the end of a compaction that keeps the messages from tail on.
func compactionEnd(tail session.MessageID) *session.CompactionEnded {
	return &session.CompactionEnded{
		MessageID: "msg_6", Reason: session.CompactionManual, Text: "All.", SummaryAs: summaryAs,
		Kept: session.Kept{MessageID: tail}, Request: &session.RequestCost{Model: model, Cost: 5},
	}
}

// The events of a compaction have OpenCode's order: a request, a summary that streams, and session.compacted.
func TestFoldCompaction(t *testing.T) {
	auto := compactionEnd("msg_2")
	auto.Reason = session.CompactionAuto
	continued := compactionEnd("")
	continued.Reason, continued.Continue = session.CompactionAuto, true
	start := []session.EventData{created(), admitted("msg_1"), started("msg_2", "msg_1")}
	const before = `S+ | S~ U [text "hi"] [text "you"] [file] S~ | A S~ diff U+sum busy | `
	const open = `Summary S~ busy [step-start] [text ""]`
	for _, c := range []struct {
		name  string
		facts []session.EventData
		want  string // of each fact after the start
		then  string // when the session rests
	}{
		{
			"requested",
			[]session.EventData{
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop"},
				&session.CompactionAdmitted{MessageID: "msg_5"}, compactionStart(session.CompactionManual), compactionEnd(""),
			},
			`[step-start] [step-finish=stop] A=stop A=stop. busy S~ diff U+sum | U [compaction] | ` + open +
				` | [text "All."] [step-finish=stop] Summary=stop Summary=stop. COMPACTED busy S~ diff U+sum`,
			"idle IDLE",
		},
		{
			"by itself, with a tail",
			[]session.EventData{
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop"},
				compactionStart(session.CompactionAuto), auto,
			},
			`[step-start] [step-finish=stop] A=stop A=stop. busy S~ diff U+sum | U [compaction auto overflow=false] ` +
				open +
				` | [text "All."] [step-finish=stop] Summary=stop Summary=stop. [compaction auto overflow=false tail=msg_2] ` +
				`COMPACTED busy S~ diff U+sum`,
			"idle IDLE",
		},
		{
			"in the middle of work, which goes on",
			[]session.EventData{
				admitted("msg_4"), &session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "tool-calls"},
				compactionStart(session.CompactionAuto), continued,
				&session.SyntheticAdded{
					MessageID: "msg_7", Text: "Go on.", Metadata: jsontext.Value(`{"compaction_continue":true}`),
				},
				started("msg_8", "msg_7"), &session.StepEnded{TurnFact: session.OfTurn("msg_8"), Finish: "stop"},
				started("msg_9", "msg_4"),
			},
			`U [text "hi"] [text "you"] [file] S~ | [step-start] [step-finish=tool-calls] A=tool-calls A=tool-calls. ` +
				`busy S~ diff U+sum | U [compaction auto overflow=false] ` + open +
				` | [text "All."] [step-finish=stop] Summary=stop Summary=stop. S~ diff U+sum | ` +
				`U [text "Go on."] COMPACTED busy | A busy | ` +
				`[step-start] [step-finish=stop] A=stop A=stop. busy S~ diff U+sum | A busy`,
			"idle IDLE",
		},
		{
			"withdrawn",
			[]session.EventData{
				&session.CompactionAdmitted{MessageID: "msg_5"}, &session.InputWithdrawn{MessageID: "msg_5"},
			},
			`U [compaction] | -msg_5`,
			"idle IDLE",
		},
		{
			"failed",
			[]session.EventData{
				&session.StepEnded{TurnFact: session.OfTurn("msg_2"), Finish: "stop"},
				&session.CompactionAdmitted{MessageID: "msg_5"}, compactionStart(session.CompactionManual),
				&session.CompactionFailed{
					MessageID: "msg_6", Error: *session.Fail(session.ReasonAPI, "no"), SummaryAs: summaryAs,
				},
			},
			`[step-start] [step-finish=stop] A=stop A=stop. busy S~ diff U+sum | U [compaction] | ` + open +
				` | Summary!APIError. S~`,
			"ERROR idle IDLE idle IDLE",
		},
		{
			"undone",
			[]session.EventData{&session.CompactionUndone{MessageID: "msg_6", SummaryAs: summaryAs}},
			`-msg_6 -msg_5`,
			"idle IDLE",
		},
		{
			"outputs pruned",
			[]session.EventData{
				&session.ToolInputStarted{
					TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b",
					Name: "read",
				},
				&session.ToolCalled{TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b", Tool: "read"},
				&session.ToolSuccess{TurnFact: session.OfTurn("msg_2"), CallID: "c", PartID: "prt_b"},
				&session.OutputsPruned{TurnFact: session.OfTurn("msg_2"), PartIDs: []session.PartID{"prt_b"}},
			},
			`[step-start] [read *opencode.ToolPending] | [read *opencode.ToolRunning] | [read *opencode.ToolCompleted] | ` +
				`[read *opencode.ToolCompleted]`,
			"idle IDLE",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Begin()
			var got []string
			for _, e := range log(append(start[:3:3], c.facts...)...) {
				got = append(got, describeEvents(f.ApplyEvent(e)))
			}
			if s := strings.Join(got, " | "); s != before+c.want {
				t.Errorf("got\n%s\nwant\n%s", s, before+c.want)
			}
			if s := describeEvents(f.ApplyStatus(State{Type: "idle"})); s != c.then {
				t.Errorf("then %s, want %s", s, c.then)
			}
		})
	}
}

// A fold from rows continues a compaction: the session tells since when, and neither its request nor its parts are
// announced again.
func TestFoldOfOpenCompaction(t *testing.T) {
	events := log(created(), &session.CompactionAdmitted{MessageID: "msg_5"},
		compactionStart(session.CompactionManual), compactionEnd(""))
	s := &session.Session{}
	for _, e := range events[:2] {
		s.Apply(e.Data)
	}
	request := &session.Input{ID: "msg_5", Compaction: &session.CompactionRequest{}}
	f := NewFold(Rows{Session: s, Pending: []*session.Input{request}, Through: 1})
	if got, want := describeEvents(f.ApplyEvent(events[2])), `Summary S~ busy [step-start] [text ""]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at := SessionOf(s).Time.Compacting; at != 7 {
		t.Errorf("the summary is written since %d", at)
	}
	shown := PendingMessages(s, nil)
	b, err := json.Marshal(shown, json.Deterministic(true))
	want := `{"id":"` + string(derivePartID("msg_5", 0)) +
		`","sessionID":"ses_1","messageID":"msg_5","type":"compaction","auto":false}`
	if err != nil || len(shown) != 2 || !strings.Contains(string(b), want) {
		t.Errorf("%s, %v", b, err)
	}
	f = NewFold(Rows{Session: s, Through: 2})
	delta := f.ApplyFragment(&session.Fragment{
		SessionID: "ses_1", MessageID: "msg_6", PartID: "prt_7", Item: session.FragmentSummary, Delta: "All",
	})
	if got, ok := delta[0].Properties.(Delta); !ok || got.PartID != "prt_7" || got.MessageID != "msg_6" ||
		got.Delta != "All" {
		t.Errorf("%+v", delta)
	}
	want = `[text "All."] [step-finish=stop] Summary=stop Summary=stop. COMPACTED busy S~ diff U+sum`
	if got := describeEvents(f.ApplyEvent(events[3])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at := SessionOf(s).Time.Compacting; at != 0 {
		t.Errorf("the session still says that a summary is written, since %d", at)
	}
}

// An export has what OpenCode's form of a compaction lacks, and an import takes it back.
func TestExportOfCompaction(t *testing.T) {
	d := compactionEnd("msg_2")
	d.Kept.PromptID, d.Kept.Turns, d.Before, d.After, d.Recent = "msg_1", 3, 900, 100, "R"
	d.Kept.Seq, d.Timestamp = 4, 9
	c := session.Begin(d, 9)
	s := &session.Session{ID: "ses_1"}
	exported := RenderExport(s, []session.Message{c})
	var x MessageImporter
	x.seen = map[session.MessageID]bool{"msg_2": true}
	x.requests = map[session.MessageID]CompactionPart{}
	var back []session.Message
	for _, m := range exported {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Add(raw)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, got...)
	}
	if len(back) != 1 {
		t.Fatalf("%d messages", len(back))
	}
	want := session.Kept{MessageID: "msg_2", PromptID: "msg_1", Turns: 3}
	got := back[0].(*session.Compaction)
	if got.Kept != want || got.Before != 900 || got.After != 100 || got.Recent != "R" || got.Summary != "All." {
		t.Errorf("%+v", got)
	}
	a, err := json.Marshal(exported, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(RenderExport(s, back), json.Deterministic(true)); err != nil || !equalJSON(a, b) {
		t.Errorf("exported %s\nthen     %s, %v", a, b, err)
	}
}
