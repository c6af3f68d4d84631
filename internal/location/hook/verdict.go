package hook

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Verdict is what a run of a hook decides.
type Verdict struct {
	Effect  session.Effect `json:"effect,omitzero"`  // of a call or a permission; "" leaves the decision to the rules
	Block   bool           `json:"block,omitzero"`   // the prompt or the compaction is refused, or the work goes on
	Reason  string         `json:"reason,omitzero"`  // of the effect or the block
	Halt    string         `json:"halt,omitzero"`    // why the work ends
	Input   jsontext.Value `json:"input,omitzero"`   // that the call is to run with
	Context string         `json:"context,omitzero"` // for the model
	Message string         `json:"message,omitzero"` // for people
}

// exitBlock is the exit code by which a hook objects; its standard error is the reason.
const exitBlock = 2

// answer is the JSON object that a hook writes.
type answer struct {
	Continue   *bool    `json:"continue"`
	StopReason string   `json:"stopReason"`
	Message    string   `json:"systemMessage"`
	Decision   string   `json:"decision"`
	Reason     string   `json:"reason"`
	Specific   specific `json:"hookSpecificOutput"`
}

// specific is what an answer says about its event.
type specific struct {
	Permission string         `json:"permissionDecision"`
	Reason     string         `json:"permissionDecisionReason"`
	Input      jsontext.Value `json:"updatedInput"`
	Context    string         `json:"additionalContext"`
	Decision   struct {
		Behavior string         `json:"behavior"`
		Message  string         `json:"message"`
		Input    jsontext.Value `json:"updatedInput"`
	} `json:"decision"`
}

// Judge returns what a run decides about its event. Exit code 2 objects; any other one but 0 decides nothing. The output
// of a run that succeeded is an answer if it begins as a JSON object, and else a text, which is context for the model
// where the event has one. An error is an answer that cannot be understood.
func Judge(event string, r Run) (Verdict, error) {
	switch {
	case r.Exit == exitBlock:
		return object(event, cmp.Or(r.Errors, "no reason was given")), nil
	case r.Exit != 0:
		return Verdict{Message: fmt.Sprintf("exit code %d: %s", r.Exit, cmp.Or(r.Errors, "no message"))}, nil
	}
	text := strings.TrimSpace(r.Output)
	if !strings.HasPrefix(text, "{") {
		if event == "UserPromptSubmit" || event == "PreCompact" {
			return Verdict{Context: text}, nil
		}
		return Verdict{}, nil
	}
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return Verdict{}, fmt.Errorf("its answer is not the JSON of a hook: %s", session.ClipText(err.Error(), maxReason))
	}
	return a.judge(event)
}

// maxReason bounds the texts of errors.
const maxReason = 400

// object returns the objection to an event.
func object(event, reason string) Verdict {
	v := Verdict{Reason: reason}
	switch event {
	case "PreToolUse", "PermissionRequest":
		v.Effect = session.Deny
	default:
		v.Block = true
	}
	return v
}

// judge returns what the answer decides. Unknown words of a decision are an error: what they mean may be a refusal.
func (a answer) judge(event string) (v Verdict, err error) {
	// The decision of older hooks, which most events have.
	switch a.Decision {
	case "":
	case "block", "deny":
		v = object(event, cmp.Or(a.Reason, "no reason was given"))
	case "approve", "allow":
		if event == "PreToolUse" || event == "PermissionRequest" {
			v.Effect, v.Reason = session.Allow, a.Reason
		}
	default:
		return v, fmt.Errorf("its answer has the unknown decision %q", session.ClipText(a.Decision, 100))
	}
	// That about a call or a permission.
	word, reason := a.Specific.Permission, a.Specific.Reason
	if event == "PermissionRequest" {
		word, reason = cmp.Or(a.Specific.Decision.Behavior, word), cmp.Or(a.Specific.Decision.Message, reason)
	}
	switch word {
	case "":
	case string(session.Allow), string(session.Deny), string(session.Ask):
		v.Effect, v.Reason = session.Effect(word), cmp.Or(reason, a.Reason)
	default:
		return v, fmt.Errorf("its answer has the unknown permissionDecision %q", session.ClipText(word, 100))
	}
	// What it adds.
	v.Context, v.Message = a.Specific.Context, a.Message
	if v.Input = a.Specific.Input; v.Input.Kind() == 'n' {
		v.Input = nil
	}
	if len(v.Input) > 0 && v.Input.Kind() != '{' {
		return v, fmt.Errorf("its answer has an updatedInput that is no object")
	}
	if a.Continue != nil && !*a.Continue {
		v.Halt = cmp.Or(a.StopReason, a.Reason, "no reason was given")
	}
	return v, nil
}
