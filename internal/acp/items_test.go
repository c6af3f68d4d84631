package acp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// describe returns updates in short words.
func describeUpdates(updates []update) string {
	var out []string
	for _, u := range updates {
		switch u := u.(type) {
		case userText:
			var blocks []string
			for _, b := range u.content {
				blocks = append(blocks, b.text+b.uri+b.data)
			}
			out = append(out, "user "+strings.Join(blocks, "+"))
		case agentText:
			out = append(out, "text "+u.text)
		case thought:
			out = append(out, "thought "+u.text)
		case callUpdate:
			one := fmt.Sprintf("call %s %s", u.id, u.status)
			if u.isNew {
				one = "new " + one
			}
			for _, c := range u.content {
				one += " " + c.text
			}
			out = append(out, one)
		case notice:
			out = append(out, "notice "+u.title+u.text)
		default:
			out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", u), "acp."))
		}
	}
	return strings.Join(out, "; ")
}

func TestEventsBecomeUpdates(t *testing.T) {
	turn := session.OfTurn("msg_1")
	fragment := func(part session.PartID, item session.FragmentItem, offset int, text string) session.Fragment {
		return session.Fragment{MessageID: "msg_1", PartID: part, Item: item, Offset: offset, Delta: text}
	}
	tracker := newItemTracker("/d")
	for i, tt := range []struct {
		happened any
		want     string
	}{
		{&session.Prompted{Prompt: session.Prompt{Text: "hi", Files: []session.File{{URI: "data:image/png;base64,AA", Mime: "image/png"}}}}, "user hi+AA"},
		// A text in pieces: what overlaps is sent once, and a gap is left for the whole text.
		{fragment("t", session.FragmentText, 0, "Hello"), "text Hello"},
		{fragment("t", session.FragmentText, 3, "lo you"), "text  you"},
		{fragment("t", session.FragmentText, 0, "Hello you"), ""},
		{fragment("t", session.FragmentText, 20, "later"), ""},
		{&session.TextEnded{TurnFact: turn, PartID: "t", Text: "Hello you there"}, "text  there"},
		{&session.TextEnded{TurnFact: turn, PartID: "u", Text: "Whole"}, "text Whole"},
		{&session.TextEnded{TurnFact: turn, PartID: "v"}, ""},
		{fragment("w", session.FragmentText, 0, "first"), "text first"},
		{&session.TextEnded{TurnFact: turn, PartID: "w", Text: "another", Replaced: &session.Replacement{}}, "text \n\nanother"},
		{fragment("r", session.FragmentReasoning, 0, "Hm"), "thought Hm"},
		{&session.ReasoningEnded{TurnFact: turn, PartID: "r", Text: "Hm."}, "thought ."},
		{fragment("c", session.FragmentToolInput, 0, "{"), ""},
		// A text that is cut off, and begins again.
		{fragment("x", session.FragmentText, 0, "cut"), "text cut"},
		{&session.StepFailed{TurnFact: turn}, ""},
		{&session.TextEnded{TurnFact: turn, PartID: "x", Text: "cut off"}, "text cut off"},
		// Calls.
		{&session.ToolInputStarted{TurnFact: turn, PartID: "c", Name: "bash"}, "new call c pending"},
		{&session.ToolCalled{TurnFact: turn, PartID: "c", Tool: "bash", Input: jsontext.Value(`{"command":"ls"}`)}, "call c in_progress"},
		{session.ToolProgress{PartID: "c", Structured: jsontext.Value(`{"output":"so far"}`)}, "call c  so far"},
		{session.ToolProgress{PartID: "c", Content: session.TextContent("content")}, "call c  content"},
		{session.ToolProgress{PartID: "c", Structured: jsontext.Value(`7`)}, ""},
		{session.ToolProgress{PartID: "other", Content: session.TextContent("of a subagent")}, ""},
		{&session.ToolSuccess{TurnFact: turn, PartID: "c", Content: session.TextContent("all")}, "call c completed all"},
		{&session.ToolCalled{TurnFact: turn, PartID: "d", Tool: "read", Input: jsontext.Value(`{}`)}, "new call d in_progress"},
		{&session.ToolFailed{TurnFact: turn, PartID: "d", Error: session.Failure{Message: "why"}}, "call d failed why"},
		{&session.ShellStarted{CallID: "s", Command: "ls"}, "new call s in_progress"},
		{&session.ShellEnded{CallID: "s", Output: "out"}, "call s completed out"},
		// The rest.
		{&session.TodosSet{}, "plan"},
		{&session.AgentSwitched{Agent: "plan"}, "agentChanged"},
		{&session.ModelSwitched{}, "modelChanged"},
		{&session.Renamed{Title: "x"}, "titleChanged"},
		{&session.Renamed{}, ""},
		{&session.CompactionEnded{Text: "SUMMARY"}, "notice " + summaryTitle},
		{&session.RevertStaged{}, "notice messages were undone or brought back by another client" + changedText},
		{&session.RevertStaged{Revert: session.Revert{FilesOnly: true}}, ""},
		{&session.RevertCleared{Replaced: true}, ""},
		{&session.RevertCleared{}, "notice an undo was taken back by another client" + changedText},
		{&session.Moved{Location: session.Location{Directory: "/e"}}, "notice the session works in /e nowOpen it there."},
		{&session.MessageRemoved{}, "notice the conversation was changed by another client" + changedText},
		{&session.SyntheticAdded{}, ""},
		{&session.PromptAdmitted{}, ""},
	} {
		var got []update
		switch h := tt.happened.(type) {
		case session.Fragment:
			got = tracker.applyFragment(h)
		case session.ToolProgress:
			got = tracker.applyOutput(h)
		case session.EventData:
			got = tracker.applyEvent(h)
		}
		if s := describeUpdates(got); s != tt.want {
			t.Errorf("%d: %T: got %q, want %q", i, tt.happened, s, tt.want)
		}
	}
}

func TestMessagesBecomeUpdates(t *testing.T) {
	call := func(part session.PartID, status session.ToolStatus, failure *session.Failure) *session.Tool {
		return &session.Tool{PartID: part, Name: "bash", State: session.ToolState{
			Status: status, Input: jsontext.Value(`{"command":"ls"}`), Content: session.TextContent("out"), Error: failure,
		}}
	}
	tracker := newItemTracker("/d")
	for _, tt := range []struct {
		message session.Message
		want    string
	}{
		{&session.User{Text: "hi", Files: []session.File{{URI: "file:///a", Name: "a"}, {URI: "data:text/plain,x", Name: "n"}}}, "user hi+file:///a+attachment:n"},
		{&session.User{}, "user "},
		{&session.Shell{CallID: "s", Command: "ls", Output: "out"}, "new call s in_progress; call s completed out"},
		{&session.Compaction{Summary: "SUMMARY"}, "notice " + summaryTitle},
		{&session.Assistant{Content: []session.Content{
			&session.Reasoning{Text: "Hm"}, &session.Text{Text: "Hello"}, &session.Text{}, call("c", session.ToolCompleted, nil),
			call("d", session.ToolError, &session.Failure{Message: "why"}), call("e", session.ToolRunning, nil),
		}}, "thought Hm; text Hello; new call c in_progress; call c completed out; new call d in_progress; call d failed why; new call e in_progress"},
		{&session.Assistant{Error: &session.Failure{Message: "broken"}}, "text \n\nbroken\n\n"},
		{&session.Assistant{Error: &session.Failure{Message: "stopped", Reason: session.ReasonAborted}}, ""},
	} {
		if got := describeUpdates(tracker.applyMessage(tt.message)); got != tt.want {
			t.Errorf("%T: got %q, want %q", tt.message, got, tt.want)
		}
	}
	// What runs still is followed on.
	if got := describeUpdates(tracker.applyOutput(session.ToolProgress{PartID: "e", Content: session.TextContent("more")})); got != "call e  more" {
		t.Error(got)
	}
}

// The reason of a turn that was cut off has lines of its own, also for a client that joins the texts of all messages.
func TestReplayedErrorHasItsOwnLines(t *testing.T) {
	tr := newItemTracker("/work")
	cut := &session.Assistant{
		Content: []session.Content{&session.Text{Text: "a b"}}, Error: &session.Failure{Message: "it was stopped"},
	}
	next := &session.Assistant{Content: []session.Content{&session.Text{Text: "c d"}}}
	var text string
	for _, u := range slices.Concat(tr.applyMessage(cut), tr.applyMessage(next)) {
		text += u.(agentText).text
	}
	if want := "a b\n\nit was stopped\n\nc d"; text != want {
		t.Errorf("the texts are %q, want %q", text, want)
	}
}
