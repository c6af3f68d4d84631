package printer

import (
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json/jsontext"
)

// story makes the events of a session from payloads, 100 ms apart.
func story(data ...session.EventData) []session.Event {
	events := make([]session.Event, len(data))
	for i, d := range data {
		d.Stamp().Timestamp, d.Stamp().SessionID = int64(1000+100*i), "ses_1"
		events[i] = session.Event{ID: "evt_1", SessionID: "ses_1", Seq: int64(i + 1), Version: d.Version(), Data: d}
	}
	return events
}

func mine() session.EventData { return &session.Prompted{MessageID: "msg_mine"} }

func begin(id session.MessageID) session.EventData {
	return &session.StepStarted{
		TurnFact: session.OfTurn(id),
		Agent:    "build",
		Model:    session.ModelRef{ProviderID: "p", ID: "m"},
	}
}

func text(id session.MessageID, s string) session.EventData {
	return &session.TextEnded{TurnFact: session.OfTurn(id), TextID: "t", PartID: "prt_t", Text: s}
}

func called(part session.PartID, tool, input string) session.EventData {
	return &session.ToolCalled{
		TurnFact: session.OfTurn("msg_a"),
		CallID:   "c",
		PartID:   part,
		Tool:     tool,
		Input:    jsontext.Value(input),
	}
}

func end(finish string) session.EventData {
	return &session.StepEnded{
		TurnFact: session.OfTurn("msg_a"),
		Finish:   finish,
		Cost:     session.Dollar / 100,
		Tokens:   session.Tokens{Input: 10, Output: 5},
	}
}

func failed(r session.Reason, msg string) session.EventData {
	return &session.StepFailed{TurnFact: session.OfTurn("msg_a"), Error: *session.Fail(r, msg)}
}
