package anthropic

import (
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Continuation metadata in our namespace: what the provider wants back with the next request, verbatim.
const (
	namespace    = "anthropic"
	keyCitations = "citations"  // of a text
	keyServer    = "serverName" // the MCP server that the provider asked
	keyCaller    = "caller"     // what of the provider's made the call
)

// addHosted returns the call of a tool that the provider ran, and its result, as they came. A call in which the provider
// paused stands alone where the conversation ends with it, or where the next answer begins with its result; that one is
// then told without a call of its own. What another provider ran, or what came without a result, is told in notes.
func (c *conversation) addHosted(call llm.ToolCall, result *llm.ToolResult, following []llm.Message) []block {
	made, ours := encodeHostedCall(call)
	var raw []byte
	if result != nil {
		raw = result.Raw
	}
	if id := resultCallID(raw); c.paused[id] {
		if b, ok := encodeHostedResult(id, raw); ok {
			delete(c.paused, id)
			return []block{b}
		}
	}
	if ours && len(raw) == 0 && (len(following) == 0 || hasResultFor(following[0], call.ID)) {
		c.paused[call.ID] = true
		return []block{made}
	}
	if b, ok := encodeHostedResult(call.ID, raw); ok && ours && (b.Type == "mcp_tool_result") == (made.Server != "") {
		return []block{made, b}
	}
	out := []block{noteBlock(wire.HostedCallNote(call))}
	if result != nil {
		out = append(out, hostedNote(*result))
		if shown := wire.AttachmentParts(*result); len(shown) > 0 {
			c.attachments = append(c.attachments, userBlocks(shown)...)
		}
	}
	return out
}

// encodeHostedCall returns the call as a block, and whether this provider made it.
func encodeHostedCall(call llm.ToolCall) (block, bool) {
	kept := wire.ReadMetadata(call.Metadata, namespace)
	server := wire.DecodeString(kept[keyServer])
	prefix, kind := "srvtoolu_", "server_tool_use"
	if server != "" {
		prefix, kind = "mcptoolu_", "mcp_tool_use"
	}
	b := block{Type: kind, ID: call.ID, Name: call.Name, Server: server, Input: wire.NormalizeInput(call.Input), Caller: kept[keyCaller]}
	return b, !call.OtherProvider && strings.HasPrefix(call.ID, prefix) && wire.IsWord(call.ID, "_-")
}

// resultCallID is the id that a result block names; empty for what is none.
func resultCallID(raw []byte) string {
	fields, _ := wire.ReadObject(raw)
	return wire.DecodeString(fields["tool_use_id"])
}

// hasResultFor reports whether an answer holds the result of a call that it did not make.
func hasResultFor(m llm.Message, id string) bool {
	return m.Role == llm.RoleAssistant && slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		r, ok := p.(llm.ToolResult)
		if !ok || r.ID == id || resultCallID(r.Raw) != id {
			return false
		}
		_, ok = encodeHostedResult(id, r.Raw)
		return ok
	})
}

// encodeHostedResult returns a result block that a provider of this protocol sent, with the id of the call as it is now.
func encodeHostedResult(id string, raw []byte) (block, bool) {
	fields, ok := wire.ReadObject(raw)
	kind := wire.DecodeString(fields["type"])
	if !ok || !strings.HasSuffix(kind, resultSuffix) || fields["content"] == nil {
		return block{}, false
	}
	return block{Type: kind, ToolUseID: id, Content: fields["content"], IsError: string(fields["is_error"]) == "true", Caller: fields["caller"]}, true
}

func hostedNote(r llm.ToolResult) block {
	var lines []string
	for _, p := range r.Content {
		if t, ok := p.(llm.Text); ok {
			lines = append(lines, t.Text)
		}
	}
	switch {
	case len(wire.ResultMedia(r)) > 0:
		lines = append(lines, wire.AttachmentFollows)
	case len(lines) == 0:
		lines = []string{string(r.Raw)}
	}
	return noteBlock(wire.HostedResultNote(r, strings.Join(lines, "\n")))
}

// BetaFeatures are what a request must name for its options, and for the tools of the provider's that it offers.
func (d Dialect) BetaFeatures(req *llm.Request) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(betaByOption)) {
		if wire.IsPresent(req.Options[name]) {
			out = append(out, betaByOption[name])
		}
	}
	for _, def := range req.Tools {
		fields, _ := wire.ReadObject(def.Hosted)
		kind := wire.DecodeString(fields["type"])
		switch {
		case strings.HasPrefix(kind, "code_execution_"):
			out = append(out, "code-execution-2025-08-25")
		case strings.HasPrefix(kind, "web_fetch_"):
			out = append(out, "web-fetch-2025-09-10")
		}
	}
	return out
}
