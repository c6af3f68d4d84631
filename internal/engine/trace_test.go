package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// labels gives generated ids short names in order of their appearance, so that traces are reproducible.
type labels struct {
	names map[string]string
	count map[string]int
}

var generated = regexp.MustCompile(
	`\b(msg|prt|per|que|tool|ses|job)_[0-9a-f]{12}[0-9A-Za-z]{14}|\b00VHNCZ[0-9A-Z]{19}\b`,
)

func (l *labels) replace(s string) string {
	return generated.ReplaceAllStringFunc(s, func(id string) string {
		if name := l.names[id]; name != "" {
			return name
		}
		if l.names == nil {
			l.names, l.count = map[string]string{}, map[string]int{}
		}
		kind, _, _ := strings.Cut(id, "_")
		short := map[string]string{
			"msg": "m", "prt": "p", "per": "ask", "que": "ask", "tool": "out", "ses": "t", "job": "j",
		}[kind]
		if short == "" { // the id of a subtask's call
			kind, short = "call", "call"
		}
		l.count[kind]++
		l.names[id] = fmt.Sprintf("%s%d", short, l.count[kind])
		return l.names[id]
	})
}

// traced returns one event as a line: its kind without the common prefix, and its fields.
func traced(row store.EventRow) string {
	e, err := eventlog.Decode(row)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", e.Seq, strings.TrimPrefix(string(e.Data.Kind()), "session.next."))
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(row.Data, &fields); err != nil {
		return err.Error()
	}
	for _, name := range []string{
		"messageID", "messageIDs", "assistantMessageID", "partID", "callID", "askID", "agent", "model", "title", "at",
		"delivery", "request", "requestID", "kept", "before", "after", "continue", "overflow", "stoppedBy", "partIDs", "paths",
		"asks", "hold", "noReply", "prompt", "name", "tool", "command", "input", "text", "output", "offset", "partial",
		"summary", "attempt", "error", "content", "structured", "result", "provider", "providerMetadata", "finish",
		"cost", "tokens", "ask", "reply", "message", "by", "rules", "budget", "location",
		"job", "jobID", "status", "exit", "stopped", "waited", "original", "extensions", "replaced", "altered", "environmentBy",
	} {
		v, ok := fields[name]
		if text := brief(name, v); ok && text != "" {
			fmt.Fprintf(&b, " %s", text)
		}
	}
	if e.Private != nil && e.Private.Epoch != nil {
		fmt.Fprintf(&b, " [epoch %d", e.Private.Epoch.Revision)
		if base := e.Private.Epoch.Baseline; base != nil {
			fmt.Fprintf(&b, " %q", *base)
		}
		b.WriteString("]")
	}
	if s, ok := e.Data.(*session.StepStarted); ok && s.Subtasks {
		b.WriteString(" [subtasks]")
	}
	if s, ok := e.Data.(*session.StepStarted); ok && s.Prefix != nil && s.Prefix.Changed != "" {
		fmt.Fprintf(&b, " [cache lost: %s", s.Prefix.Changed)
		if s.Prefix.Cause != "" {
			fmt.Fprintf(&b, ", by %s", s.Prefix.Cause)
		}
		b.WriteString("]")
	}
	if e.Private != nil && e.Private.Answer != nil {
		fmt.Fprintf(&b, " [answer %s]", e.Private.Answer.Finish)
	}
	return b.String()
}

// brief returns one field of an event in short form, "" for a zero value.
func brief(name string, v jsontext.Value) string {
	var s string
	isText := json.Unmarshal(v, &s) == nil && v.Kind() == '"'
	switch {
	case len(v) == 0 || string(v) == "null" || string(v) == `{}` || string(v) == `""` || string(v) == `[]`:
		return ""
	case name == "kept", name == "before", name == "after", name == "continue", name == "overflow", name == "stoppedBy", name == "request",
		name == "stopped", name == "waited", name == "extensions", name == "environmentBy":
		return name + "=" + string(v)
	case name == "original":
		var p session.Prompt
		_ = json.Unmarshal(v, &p)
		return fmt.Sprintf("original=%q", p.Text)
	case name == "altered":
		var a session.Alteration
		_ = json.Unmarshal(v, &a)
		return fmt.Sprintf("altered by %v", a.By)
	case name == "replaced":
		var r session.Replacement
		_ = json.Unmarshal(v, &r)
		return fmt.Sprintf("replaced=%d by %v", r.Bytes, r.By)
	case name == "requestID":
		return "for " + s
	case name == "model":
		var m session.ModelRef
		_ = json.Unmarshal(v, &m)
		return m.String()
	case name == "prompt":
		var p session.Prompt
		_ = json.Unmarshal(v, &p)
		return fmt.Sprintf("%q", p.Text)
	case name == "error":
		var f struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(v, &f)
		return fmt.Sprintf("%s(%q)", f.Reason, f.Message)
	case name == "content":
		var c []session.ToolContent
		_ = json.Unmarshal(v, &c)
		var texts []string
		for _, item := range c {
			texts = append(texts, item.Text+item.URI)
		}
		return fmt.Sprintf("%q", strings.Join(texts, "|"))
	case name == "tokens":
		var t session.Tokens
		_ = json.Unmarshal(v, &t)
		if t.Sum() == 0 {
			return ""
		}
		text := fmt.Sprintf("tokens=%d", t.Sum())
		if t.Unpriced > 0 {
			text += fmt.Sprintf(" unpriced=%d", t.Unpriced)
		}
		return text
	case name == "cost" && string(v) == "0":
		return ""
	case name == "provider":
		var p session.CallProvider
		_ = json.Unmarshal(v, &p)
		if !p.Executed {
			return ""
		}
		return "hosted"
	case name == "ask":
		var a session.PendingAsk
		_ = json.Unmarshal(v, &a)
		call := ""
		if a.Source != nil {
			call = " for " + a.Source.CallID
		}
		return fmt.Sprintf("%s %s %v%s agent=%s", a.ID, a.Action, a.Resources, call, a.Agent)
	case name == "job":
		var j session.Job
		_ = json.Unmarshal(v, &j)
		if j.Task == nil {
			return fmt.Sprintf("%s %q", j.ID, j.Command)
		}
		return fmt.Sprintf("%s %q for %s of %s", j.ID, j.Command, j.Task.PromptID, j.Task.SessionID)
	case name == "location":
		var l session.Location
		_ = json.Unmarshal(v, &l)
		return l.Directory
	case name == "text" || name == "message" || name == "title" || name == "output":
		return fmt.Sprintf("%q", clip(s, 200))
	case isText:
		return s
	case name == "offset" || name == "attempt" || name == "cost" || name == "hold" || name == "partial" || name == "at" ||
		name == "exit" || name == "noReply":
		return name + "=" + string(v)
	default:
		return string(v)
	}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// asked returns one request as lines.
func asked(n int, r *llm.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "request %d: model=%s system=%q", n, r.Model, r.System)
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	fmt.Fprintf(&b, " tools=%d", len(names))
	if r.Choice.Mode != "" && r.Choice.Mode != llm.ChooseAuto {
		fmt.Fprintf(&b, " choice=%s", r.Choice.Mode)
	}
	if len(r.Headers) > 0 {
		fmt.Fprintf(&b, " headers=%v", r.Headers)
	}
	if r.Generate.Temperature != nil {
		fmt.Fprintf(&b, " temperature=%v", *r.Generate.Temperature)
	}
	for _, t := range r.Tools {
		if strings.HasPrefix(t.Description, "says it again") {
			fmt.Fprintf(&b, " described=%s", t.Name)
		}
		if t.Hosted != nil {
			fmt.Fprintf(&b, " hosted=%s", t.Name)
		}
	}
	if r.OutputSchema != nil {
		fmt.Fprintf(&b, " format=%s", r.OutputSchema)
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "\n  %s", m.Role)
		for _, p := range m.Parts {
			b.WriteString(" " + part(p))
		}
	}
	return b.String()
}

func part(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return fmt.Sprintf("%q%s", clip(p.Text, 200), opaqueOf(p.Metadata))
	case llm.Reasoning:
		return fmt.Sprintf("thinking(%q%s)", p.Text, opaqueOf(p.Metadata))
	case llm.Media:
		return fmt.Sprintf("media(%s, %d bytes)", p.MediaType, len(p.Data))
	case llm.ToolCall:
		hosted := ""
		if p.Hosted {
			hosted = " hosted"
		}
		return fmt.Sprintf("call(%s %s %s%s%s)", p.ID, p.Name, p.Input, hosted, opaqueOf(p.Metadata))
	case llm.ToolResult:
		var texts []string
		for _, c := range p.Content {
			texts = append(texts, part(c))
		}
		kind := "result"
		if p.IsError {
			kind = "error"
		}
		return fmt.Sprintf("%s(%s %s%s%s)", kind, p.ID, strings.Join(texts, " "), raw(p.Raw), opaqueOf(p.Metadata))
	default:
		return fmt.Sprintf("%T", p)
	}
}

func opaqueOf(m llm.Metadata) string {
	if len(m) == 0 {
		return ""
	}
	var keys []string
	for k, v := range m {
		keys = append(keys, k+":"+string(v))
	}
	slices.Sort(keys)
	return fmt.Sprintf(" opaque%v", keys)
}

func raw(v jsontext.Value) string {
	if len(v) == 0 {
		return ""
	}
	return " raw=" + string(v)
}
