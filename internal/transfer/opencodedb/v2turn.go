package opencodedb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// convertAssistant converts a turn. What the provider attached to it, such as signatures, is left out, so that any
// model can go on with the session.
func (c *converter) convertAssistant(head session.Head, m message) (session.Message, string) {
	a := &session.Assistant{
		Head: head, Agent: cmp.Or(m.Text("agent"), "build"), Model: modelOf(m.Object), Content: []session.Content{},
		ParentID: c.prompt, StartID: c.ids.Part(m.row, 0, head.Time.Created),
	}
	items := m.Objects("content")
	a.EndID = c.ids.Part(m.row, len(items)+1, head.Time.Created)
	for i, item := range items {
		c.addItem(a, item, c.ids.Part(m.row, i+1, head.Time.Created))
	}
	// The end of the turn. One that had not ended was cut off.
	times := m.Object.Object("time")
	a.Time.Completed = max(times.Int("completed"), head.Time.Created, 1)
	for _, t := range a.Tools() {
		a.Time.Completed = max(a.Time.Completed, t.Time.Completed)
	}
	switch e := m.Object.Object("error"); {
	case e != nil:
		a.Error = session.Fail(reasonOf(e.Text("type")), e.Text("message"))
	case !times.Has("completed") && !m.Has("finish"):
		a.Error = session.Fail(session.ReasonAborted, "it had not ended in the source")
	default:
		a.Finish = cmp.Or(m.Text("finish"), findFinish(a))
	}
	if len(a.Content) == 0 && a.Error == nil {
		return nil, "the turn is empty"
	}
	setUsage(a, m.Object)
	return a, ""
}

// findFinish returns why a turn ended that does not say so.
func findFinish(a *session.Assistant) string {
	if len(a.Tools()) > 0 {
		return "tool-calls"
	}
	return "stop"
}

// reasonOf converts a type of OpenCode's errors.
func reasonOf(kind string) session.Reason {
	switch {
	case isAbort(kind):
		return session.ReasonAborted
	case strings.HasSuffix(kind, "auth"):
		return session.ReasonAuth
	case strings.HasPrefix(kind, "provider"):
		return session.ReasonAPI
	}
	return session.ReasonInternal
}

func isAbort(kind string) bool {
	return strings.Contains(kind, "abort") || strings.Contains(kind, "interrupt")
}

// setUsage sets tokens and cost.
func setUsage(a *session.Assistant, m foreign.Object) {
	if u := m.Object("tokens"); u != nil {
		cache := u.Object("cache")
		a.Tokens = &session.Tokens{
			Input: u.Int("input"), Output: u.Int("output"), Reasoning: u.Int("reasoning"),
			Cache: session.CacheUsage{Read: cache.Int("read"), Write: cache.Int("write")},
		}
	}
	if usd, err := session.ParseUSD(string(m["cost"])); err == nil && usd >= 0 {
		a.Cost = &usd
	}
}

// addItem adds an item of a turn. Texts without content are left out.
func (c *converter) addItem(a *session.Assistant, item foreign.Object, id session.PartID) {
	times := item.Object("time")
	at := &session.ItemTime{Created: max(times.Int("created"), a.Time.Created), Completed: times.Int("completed")}
	at.Completed = max(at.Completed, at.Created)
	text := item.Text("text")
	switch kind := item.Text("type"); {
	case kind == "tool":
		a.Content = append(a.Content, c.convertCall(a, item, id))
	case kind != "text" && kind != "reasoning":
		c.Problem(string(a.ID), "content", "it has an item of a type that is not known")
	case strings.TrimSpace(text) == "":
	case kind == "text":
		a.Content = append(a.Content, &session.Text{Type: kind, ID: string(id), PartID: id, Text: text, Time: at})
	default:
		a.Content = append(a.Content, &session.Reasoning{Type: kind, ID: string(id), PartID: id, Text: text, Time: at})
	}
}

// convertCall converts a call. One without a result was interrupted.
func (c *converter) convertCall(a *session.Assistant, item foreign.Object, id session.PartID) *session.Tool {
	state, times := item.Object("state"), item.Object("time")
	t := &session.Tool{Type: "tool", ID: cmp.Or(item.Text("id"), string(id)), PartID: id}
	if slices.ContainsFunc(a.Tools(), func(o *session.Tool) bool { return o.ID == t.ID }) {
		t.ID = string(id)
	}
	var input foreign.Object
	t.Name, input = renameTool(cmp.Or(item.Text("name"), "unknown"), state.Object("input"))
	t.State.Input = input.Value()
	t.Time.Created = max(times.Int("created"), a.Time.Created)
	t.Time.Ran = max(times.Int("ran"), t.Time.Created)
	t.Time.Completed = max(times.Int("completed"), t.Time.Ran, 1)
	if item.Bool("executed") {
		t.Provider = &session.ToolProvider{Executed: true}
	}
	// A subagent's session is named as cairn's own calls name it.
	t.State.Structured = state.Object("metadata").Rename("sessionID", "sessionId").Value()
	switch state.Text("status") {
	case "completed":
		t.State.Status = session.ToolCompleted
		t.State.Content = c.convertOutput(a, state)
	case "error":
		reason := session.ReasonTool
		if isAbort(state.Object("error").Text("type")) {
			reason = session.ReasonInterrupted
		}
		text := cmp.Or(state.Object("error").Text("message"), "the tool failed")
		t.State.Status, t.State.Error = session.ToolError, session.Fail(reason, text)
	default:
		t.State.Status = session.ToolError
		t.State.Error = session.Fail(session.ReasonInterrupted, "the source has no result of this call")
	}
	return t
}

// convertOutput converts the output of a call.
func (c *converter) convertOutput(a *session.Assistant, state foreign.Object) []session.ToolContent {
	out := []session.ToolContent{}
	for i, o := range state.Objects("content") {
		if o.Text("type") != "file" {
			out = append(out, session.ToolContent{Type: "text", Text: o.Text("text")})
			continue
		}
		f, reason := convertFile(o)
		if reason != "" {
			c.Problem(string(a.ID), fmt.Sprintf("content[%d]", i), reason)
			continue
		}
		out = append(out, session.ToolContent{Type: "file", URI: f.URI, Mime: f.Mime, Name: f.Name})
	}
	return out
}

// renameTool returns cairn's name of a tool and of its arguments.
func renameTool(name string, input foreign.Object) (string, foreign.Object) {
	switch name {
	case "shell":
		return "bash", input
	case "read", "write", "edit":
		return name, input.Rename("path", "filePath")
	case "patch":
		return "apply_patch", input.Rename("patch", "patchText")
	case "subagent":
		return "task", input.Rename("agent", "subagent_type", "sessionID", "task_id")
	}
	return name, input
}
