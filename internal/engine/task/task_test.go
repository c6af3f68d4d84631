package task

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// The end of a task is the last text of the newest turn, or the reason why the task has no text, with the next step.
func TestDescribeEnd(t *testing.T) {
	turn := func(finish string, content ...session.Content) *session.Assistant {
		return &session.Assistant{Finish: finish, Content: content}
	}
	failed := func(reason session.Reason, message string) *session.Assistant {
		a := turn("", &session.Text{Text: "half"})
		a.Error = session.Fail(reason, message)
		return a
	}
	text, call := &session.Text{Text: "report"}, &session.Tool{Name: "read"}
	tests := []struct {
		name     string
		messages []session.Message
		asks     session.AskPolicy
		text     string
		failure  string
		stops    bool // the work of the caller
	}{
		{name: "report", messages: []session.Message{turn("stop", &session.Text{Text: "draft"}, text, call)}, text: "report"},
		{name: "newest turn", messages: []session.Message{failed("model", "x"), turn("stop", text)}, text: "report"},
		{
			name: "note after the turn", messages: []session.Message{turn("stop", text), &session.Synthetic{Text: "note"}},
			text: "report",
		},
		{
			name: "no text", messages: []session.Message{turn("stop", &session.Text{Text: " \n"})},
			text: "[The subagent ended without a report. To ask for one, call task with the task_id ses_c.]",
		},
		{
			name: "steps used up", messages: []session.Message{turn("stop", call)},
			text: "[The subagent ended without a report: it used up its steps. " +
				"To ask for one, call task with the task_id ses_c.]",
		},
		{
			name: "cut", messages: []session.Message{turn("length", text)},
			text: "report\n\n[The report is not complete: the answer is cut off at the model's output limit.]",
		},
		{
			name: "cancelled", messages: []session.Message{failed(session.ReasonAborted, "stopped")},
			failure: "The task was cancelled. To continue it, call task with the task_id ses_c.",
		},
		{
			name: "failed", messages: []session.Message{failed(session.ReasonModel, "no such model")},
			failure: "Subagent failed (task_id: ses_c): no such model",
		},
		{
			name: "declined by a person", messages: []session.Message{failed(session.ReasonDenied, "no")},
			failure: "Subagent failed (task_id: ses_c): " + (&tool.Denial{}).Error(),
		},
		{
			name: "declined in a run", asks: session.AskPolicy(ask.PolicyFail), stops: true,
			messages: []session.Message{failed(session.ReasonDenied, "no")},
		},
		{
			name: "no turn", messages: []session.Message{&session.User{}},
			failure: "The task ended without an answer. Its session is ses_c.",
		},
	}
	for _, c := range tests {
		end := describeEnd(c.messages, session.TaskJob{SessionID: "ses_c", Asks: c.asks})
		if !end.reached || end.text != c.text {
			t.Errorf("%s: reached %v, text %q, want %q", c.name, end.reached, end.text, c.text)
		}
		denial, stops := errors.AsType[*tool.Denial](end.failure)
		if stops = stops && denial.Stop; stops != c.stops {
			t.Errorf("%s: stops the caller: %v, want %v", c.name, stops, c.stops)
		}
		if failure := ""; !stops {
			if end.failure != nil {
				failure = end.failure.Error()
			}
			if failure != c.failure {
				t.Errorf("%s: failure %q, want %q", c.name, failure, c.failure)
			}
		}
	}
}

// A child session may do no more than its parent: it inherits denials and the rules about other directories, and has
// neither subagents nor todos unless its agent mentions them.
func TestChildRules(t *testing.T) {
	rule := func(action string, e session.Effect) session.Rule {
		return session.Rule{Action: action, Resource: "*", Effect: e}
	}
	deny := func(action string) session.Rule { return rule(action, session.Deny) }
	tests := []struct {
		name                string
		parent, agent, want []session.Rule
	}{
		{name: "none", want: []session.Rule{deny("todowrite"), deny("task")}},
		{
			name:   "of the parent",
			parent: []session.Rule{rule("bash", session.Allow), deny("edit"), rule("external_directory", session.Ask)},
			want:   []session.Rule{deny("edit"), rule("external_directory", session.Ask), deny("todowrite"), deny("task")},
		},
		{
			name: "an agent with subagents", agent: []session.Rule{rule("task", session.Allow)},
			want: []session.Rule{deny("todowrite")},
		},
	}
	for _, c := range tests {
		got := childRules(&session.Session{Permission: c.parent}, session.Agent{Permissions: c.agent})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestIsAwaiting(t *testing.T) {
	call := func(name string, status session.ToolStatus, input string) *session.Assistant {
		c := &session.Tool{Name: name, PartID: "prt_1"}
		c.State.Status, c.State.Input = status, jsontext.Value(input)
		return &session.Assistant{Content: []session.Content{c}}
	}
	own := session.TaskID("prt_1")
	tests := []struct {
		name  string
		turn  *session.Assistant
		child session.ID
		want  bool
	}{
		{"a new task", call(tool.NameTask, session.ToolRunning, `{}`), own, true},
		{"another session", call(tool.NameTask, session.ToolRunning, `{}`), "ses_x", false},
		{"a task that goes on", call(tool.NameTask, session.ToolRunning, `{"task_id":"ses_x"}`), "ses_x", true},
		{"not the own session then", call(tool.NameTask, session.ToolRunning, `{"task_id":"ses_x"}`), own, false},
		{"settled", call(tool.NameTask, session.ToolCompleted, `{}`), own, false},
		{"another tool", call("bash", session.ToolRunning, `{}`), own, false},
	}
	for _, c := range tests {
		if got := IsAwaiting(c.turn, c.child); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
