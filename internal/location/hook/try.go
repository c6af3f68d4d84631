package hook

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// Trial is a run of a hook with an example.
type Trial struct {
	Hook    config.Hook `json:"hook"`
	Run     Run         `json:"run"`
	Failure string      `json:"failure,omitzero"` // why there is no verdict
	Verdict Verdict     `json:"verdict"`
	Outcome string      `json:"outcome"` // what cairn would do
}

// Example is what hooks are tried with.
type Example struct {
	Event string
	Tool  string         // under the name of cairn or of Claude Code; "" is bash
	Input jsontext.Value // of the tool, with the names of its members in cairn
}

// Try runs the hooks of the event that select the example, each with the example itself. Nothing else happens.
func (s *Set) Try(ctx context.Context, x Example) (trials []Trial) {
	for _, c := range s.hooks {
		if c.Event != x.Event {
			continue
		}
		in, selected := c.example(x)
		if !selected {
			continue
		}
		trials = append(trials, c.try(ctx, in))
	}
	return trials
}

// try runs the hook and judges what it did.
func (c *command) try(ctx context.Context, in Input) (t Trial) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	t.Hook = c.Hook
	run, err := c.run(ctx, encode(in))
	if t.Run = run; err == nil {
		t.Verdict, err = Judge(c.Event, run)
	}
	if err != nil {
		t.Failure = err.Error()
	}
	t.Outcome = c.describe(t.Verdict, t.Failure)
	return t
}

// example returns the input of the hook for the example, and whether its matcher selects that.
func (c *command) example(x Example) (in Input, selected bool) {
	in = Input{SessionID: "ses_example", Event: c.Event, Directory: c.set.options.Directory, Mode: permissionMode("")}
	tool := ourName(x.Tool)
	switch c.Event {
	case "PreToolUse", "PostToolUse", "PermissionRequest":
		inputs, _ := c.set.splitInput(tool, restoreInput(tool, x.Input))
		in.Tool, in.Input, in.CallID = c.set.claudeName(tool), inputs[0], "call_example"
		if c.Event == "PostToolUse" {
			in.Response = c.set.describeResult(&extension.Result{
				Tool: tool, Input: restoreInput(tool, x.Input), Content: session.TextContent("an example of a result"),
			})
		}
		return in, c.Matcher.Matches(c.set.matchedNames(tool)...)
	case "UserPromptSubmit":
		in.Prompt = new("an example of a prompt")
	case "Stop", "SubagentStop":
		in.StopActive, in.Last = new(false), new("an example of an answer")
		in.AgentType = map[string]string{"SubagentStop": "general"}[c.Event]
	case "SubagentStart":
		in.AgentID, in.AgentType = "ses_example", "general"
	case "PreCompact":
		in.Trigger, in.Instructions = extension.CauseManual, new("")
	case "PostCompact":
		in.Trigger, in.Summary = extension.CauseManual, "an example of a summary"
	case "SessionStart":
		in.Source = extension.CauseCreated
	case "SessionEnd":
		in.Cause = extension.CauseRemoved
	case "Notification":
		in.Message, in.Notification = "cairn needs your permission for bash", "permission_prompt"
	}
	return in, true
}

// describe says what cairn would do after a run.
func (c *command) describe(v Verdict, failure string) string {
	var e extension.Extension
	c.connect(&e)
	switch {
	case failure != "" && !e.Lenient && c.Event == "PreToolUse":
		return "refuse the call, because the hook failed"
	case failure != "" && !e.Lenient:
		return "refuse the prompt, because the hook failed"
	case failure != "":
		return "go on, and show the failure"
	case v.Halt != "" && (c.Event == "PreToolUse" || c.Event == "PostToolUse"):
		return "end the work: " + v.Halt
	case v.Halt != "" && c.Event == "UserPromptSubmit":
		return "refuse the prompt: " + v.Halt
	case v.Effect == session.Allow && !c.MayAllow:
		return "follow the rules: the hook may not allow (set its \"allow\" in your own configuration)"
	case v.Effect == session.Allow:
		return "run the call without asking, unless a rule denies it"
	case v.Effect == session.Deny:
		return "refuse the call: " + v.Reason
	case v.Effect == session.Ask:
		return "ask a person, unless a rule denies the call"
	case v.Block:
		return c.describeBlock(v)
	}
	out := "go on"
	if len(v.Input) > 0 {
		out = fmt.Sprintf("%s, with the input %s", out, v.Input)
	}
	if v.Context != "" {
		out += ", and tell the model: " + v.Context
	}
	return out
}

// describeBlock says what an objection does to the event.
func (c *command) describeBlock(v Verdict) string {
	switch c.Event {
	case "UserPromptSubmit":
		return "refuse the prompt: " + v.Reason
	case "PostToolUse":
		return "add to the result: " + v.Reason
	case "Stop", "SubagentStop":
		return "have the model go on with: " + v.Reason
	case "PreCompact":
		return "refuse the summary, if a person asked for it: " + v.Reason
	}
	return "go on: the event is over"
}
