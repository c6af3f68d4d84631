package history

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Input is everything that one request is made of.
type Input struct {
	Session     *session.Session
	Agent       session.Agent
	Rights      []permission.Layer // the permission rules of the turn: denied tools are not offered
	Model       *scope.Model
	Tools       *tool.Set // offered to the model, see OfferTools
	Baseline    string    // the system context
	BaselineSeq int64     // the seq up to which Baseline covers the context
	History     *History
	Output      *OutputSchema // nil without structured output
	Last        bool          // the agent's last step: tools are off
	// Altered are definitions of tools that take the place of their own, by name.
	Altered map[string]llm.ToolDefinition
	// Shown, unless nil, takes the place of the visible messages of History.
	Shown []session.Message
}

// lastStep is the text for the model when the agent's steps are used up. It is a system message, not an assistant
// message as OpenCode sends: vendors reject a conversation that ends in an assistant message, or continue it, or answer
// nothing.
const lastStep = "You have used all the steps that you were given for this request. Tools are switched off now. " +
	"Answer with text only: say what you found and changed, what is not done yet, and what should come next."

// OfferTools returns a snapshot of the tools for a model: without those that the rules deny for every resource, and
// empty for a model that does not support tools.
func OfferTools(r *tool.Registry, m *scope.Model, rights []permission.Layer) *tool.Set {
	return r.TakeSnapshot(func(action string) bool { return m.NoTools || permission.IsHidden(rights, action) })
}

// BuildRequest returns the request for the model.
func BuildRequest(in *Input) *llm.Request {
	m := in.Model
	req := &llm.Request{
		Model: m.APIName, Messages: in.lowerMessages(),
		Generate: m.Generate, Options: m.Options, Body: m.Body, Headers: m.Headers, Clocks: m.Clocks,
		CacheKey: CacheKey(in.Session.ID), Session: string(in.Session.ID), Parent: string(in.Session.ParentID),
	}
	// System texts: the agent and the model first, because they change least, then the context.
	for _, text := range []string{JoinParagraphs(in.Agent.System, m.System), in.Baseline} {
		if text != "" {
			req.System = append(req.System, text)
		}
	}
	if text := in.History.promptSystem(); text != "" { // at the end, so that the provider's cache of the rest applies
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleSystem, Parts: TextParts(text)})
	}
	// The last step is text only: tools are off, and a note says why.
	if in.Last && in.Output == nil {
		req.Choice = llm.ToolChoice{Mode: llm.ChooseNone}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleSystem, Parts: TextParts(lastStep)})
		req.Breakpoints = llm.TurnBreakpoints(req)
		return req
	}
	// Tools, in a stable order.
	if !in.Last {
		for _, d := range in.Tools.Definitions() {
			shown := llm.ToolDefinition{Name: d.Name, Description: d.Description, Schema: d.Schema}
			if altered, ok := in.Altered[d.Name]; ok {
				shown = altered
			}
			req.Tools = append(req.Tools, shown)
		}
		if len(in.SkippedHostedTools()) == 0 {
			req.Tools = append(req.Tools, in.hostedTools()...)
		}
		sortTools(req.Tools)
	}
	if len(req.Tools) > 0 {
		req.Choice.Mode = llm.ChooseAuto
	}
	// Structured output, in the way that the vendor supports.
	if in.Output != nil {
		in.Output.addTo(req, in.supportsSchema(), in.Last)
	}
	req.Breakpoints = llm.TurnBreakpoints(req)
	return req
}

// lowerMessages lowers the visible messages. An answer to a hidden prompt is in the format of that prompt.
func (in *Input) lowerMessages() []llm.Message {
	l := newMessageLowerer(in.Model, in.Session.Excluded)
	if u := in.History.hidden.Prompt; u != nil {
		l.format = u.Format
	}
	if in.Shown != nil {
		return l.lowerAll(in.Shown)
	}
	return l.lowerAll(in.History.VisibleMessages(in.BaselineSeq))
}

// supportsSchema reports whether the vendor holds the text of the answer to the output schema.
func (in *Input) supportsSchema() bool {
	m := in.Model
	alone := m.Forms == llm.SchemaWithoutTools && len(in.Tools.Definitions()) == 0 && len(in.hostedTools()) == 0
	if m.Forms == llm.SchemaSupported || alone {
		return m.NoTools || m.SupportsSchema == nil || m.SupportsSchema(in.Output.schema)
	}
	return m.NoTools // without tools there is no other way
}

// hostedTools returns the vendor's tools that the agent may use. They do not ask: configuring them is the permission.
func (in *Input) hostedTools() []llm.ToolDefinition {
	return slices.DeleteFunc(slices.Clone(in.Model.Hosted), func(d llm.ToolDefinition) bool {
		if permission.IsHidden(in.Rights, d.Name) {
			return true
		}
		for _, word := range hostedToolWords(d) {
			for part, local := range equivalentTools {
				if strings.Contains(word, part) && permission.IsHidden(in.Rights, local) {
					return true
				}
			}
		}
		return false
	})
}

// SkippedHostedTools returns the names of the vendor's tools that the request leaves out because the vendor does not
// accept them next to local tools.
func (in *Input) SkippedHostedTools() (names []string) {
	if !in.Model.HostedExclusive || len(in.Tools.Definitions()) == 0 {
		return nil
	}
	for _, d := range in.hostedTools() {
		names = append(names, d.Name)
	}
	return names
}

// JoinParagraphs joins two texts with a blank line; either may be empty.
func JoinParagraphs(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "\n\n" + second
}

// CacheKey returns the session's id as a cache key of at most 64 bytes, the limit of vendors: without its prefix where
// the rest alone fills them.
func CacheKey(id session.ID) string {
	if _, tail, ok := strings.Cut(string(id), "_"); ok && len(tail) == 64 {
		return tail
	}
	return string(id)[:min(len(id), 64)]
}
