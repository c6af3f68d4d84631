package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

// attachedView shows the work of a server: to people as any run, to programs in OpenCode's lines.
type attachedView struct {
	app      *app
	json     bool
	thinking bool
	auto     bool // every ask is answered with once
	session  session.ID
	said     []string // by the model, in its last step
	result   result
	failure  jsontext.Value // the last that the server told
}

func newAttachedView(a *app, f *runFlags) *attachedView {
	return &attachedView{app: a, json: f.format == formatJSON, thinking: f.thinking, auto: f.auto, result: result{Denials: []denial{}}}
}

// attachedLine is one of OpenCode's lines.
type attachedLine struct {
	Type      string         `json:"type"`
	Timestamp int64          `json:"timestamp"`
	SessionID session.ID     `json:"sessionID,omitzero"`
	Part      jsontext.Value `json:"part,omitzero"`
	Error     jsontext.Value `json:"error,omitzero"`
}

// lineTypes are the names of parts in these lines.
var lineTypes = map[string]string{"step-start": "step_start", "step-finish": "step_finish", "tool": "tool_use", "text": "text", "reasoning": "reasoning"}

// Part implements peer.Watcher.
func (v *attachedView) Part(p peer.Shown) {
	v.count(p)
	if p.Type == "reasoning" && !v.thinking {
		return
	}
	if v.json {
		v.app.printLine(attachedLine{Type: lineTypes[p.Type], Timestamp: time.Now().UnixMilli(), SessionID: v.session, Part: p.Raw})
		return
	}
	out, err := v.app.out, v.app.err
	switch p.Type {
	case "text":
		out.freshLine()
		out.say(strings.TrimSpace(p.Text))
		out.freshLine()
	case "reasoning":
		out.freshLine()
		err.printf("%s\n", err.paint(dim, harmless(strings.TrimSpace(p.Text))))
	case "tool":
		mark, style, why := v.app.marks.good, green, ""
		if p.State.Status == "error" {
			mark, style, why = v.app.marks.bad, red, ": "+line(p.State.Error, 300)
		}
		out.freshLine()
		err.freshLine()
		err.printf("%s %s%s\n", err.paint(style, mark), describe(p.Tool, p.State.Input), why)
	}
}

// count keeps what the result tells.
func (v *attachedView) count(p peer.Shown) {
	switch p.Type {
	case "step-start":
		v.said = nil
		v.result.Turns++
	case "text":
		v.said = append(v.said, p.Text)
	case "step-finish":
		var cost session.USD
		var tokens session.Tokens
		if json.Unmarshal(p.Cost, &cost) == nil {
			v.result.Cost += cost
		}
		if json.Unmarshal(p.Tokens, &tokens) == nil {
			v.result.Usage = v.result.Usage.Add(tokens)
		}
		v.result.Finish = p.Reason
	}
}

// Asked implements peer.Watcher. Nobody is asked: that is what --auto is for, and it lifts asks only, never what a rule
// denies.
func (v *attachedView) Asked(a peer.Ask) string {
	what := fmt.Sprintf("permission requested: %s (%s)", line(a.Permission, 60), line(strings.Join(a.Patterns, ", "), 200))
	if v.auto {
		return string(session.ReplyOnce)
	}
	v.note(what + "; auto-rejecting")
	v.result.Denials = append(v.result.Denials, denial{Action: a.Permission, Resources: a.Patterns, By: "policy"})
	return string(session.ReplyReject)
}

// Failed implements peer.Watcher.
func (v *attachedView) Failed(e jsontext.Value) {
	v.failure = e.Clone()
	if v.json {
		v.app.printLine(attachedLine{Type: "error", Timestamp: time.Now().UnixMilli(), SessionID: v.session, Error: v.failure})
	}
}

func (v *attachedView) note(text string) { v.app.note(text) }

// told is what the server said of the failure, for people.
func (v *attachedView) told() string {
	var said struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if json.Unmarshal(v.failure, &said) != nil || said.Data.Message == "" {
		return "the server says that the work failed"
	}
	return said.Data.Message
}

// close tells how it came out: to programs, but for those that expect OpenCode, in a line of ours.
func (v *attachedView) close(err error) error {
	if v.json && err != nil && v.failure == nil && v.session != "" {
		v.Failed(unknownError(err))
	}
	code := codeOf(err)
	switch {
	case err == nil && v.failure != nil:
		code, err = exitProvider, &exit{exitProvider, fmt.Errorf("%s", v.told()), ""}
	case err == nil && len(v.result.Denials) > 0:
		code, err = exitDenied, &exit{code: exitDenied}
	}
	if !v.json {
		return err
	}
	if !v.app.asOpenCode() {
		v.finish(code, err)
	} else if v.failure == nil {
		return err // it stands on standard error only
	}
	if err == nil {
		return nil
	}
	return &exit{code: code}
}

func (v *attachedView) finish(code exitCode, err error) {
	r := v.result
	r.Type, r.SessionID, r.Text, r.ExitCode, r.Time = "result", v.session, strings.Join(v.said, "\n"), code, time.Now().UnixMilli()
	if r.IsError = code != exitOK; r.IsError {
		r.Error = &resultError{Name: code.String(), Message: firstLine(err), Hint: hintOf(err)}
	}
	v.app.printLine(r)
}

func firstLine(err error) string {
	if err == nil {
		return ""
	}
	return line(err.Error(), 600)
}

// unknownError is OpenCode's envelope for what has no other.
func unknownError(err error) jsontext.Value {
	b, merr := json.Marshal(jsonError{"UnknownError", jsonErrorData{Message: err.Error()}})
	if merr != nil {
		return jsontext.Value(`{}`)
	}
	return b
}
