package anthropic

import (
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// The metadata that the provider requires back verbatim with the next request, in this namespace.
const (
	namespace    = "anthropic"
	keyCitations = "citations"  // of a text block
	keyServer    = "serverName" // the MCP server that the provider called
	keyCaller    = "caller"     // the hosted tool that made the call
)

// addHosted returns the call of a hosted tool and its result, verbatim. If the provider paused during the call, the
// call is alone at the end of its answer and the next answer begins with its result; that result then has no call of
// its own. Calls of other providers, and calls without a result, become notes.
func (c *conversation) addHosted(call llm.ToolCall, result *llm.ToolResult, following []llm.Message) []block {
	encoded, isOwn := encodeHostedCall(call)
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
	if isOwn && len(raw) == 0 && (len(following) == 0 || hasResultFor(following[0], call.ID)) {
		c.paused[call.ID] = true
		return []block{encoded}
	}
	if b, ok := encodeHostedResult(call.ID, raw); ok && isOwn && (b.Type == "mcp_tool_result") == (encoded.Server != "") {
		return []block{encoded, b}
	}
	out := []block{noteBlock(wire.HostedCallNote(call))}
	if result != nil {
		out = append(out, noteBlock(wire.HostedResultNote(*result, wire.HostedResultText(*result))))
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
	b := block{
		Type: kind, ID: call.ID, Name: call.Name, Server: server, Input: wire.NormalizeInput(call.Input),
		Caller: kept[keyCaller],
	}
	return b, !call.OtherProvider && strings.HasPrefix(call.ID, prefix) && wire.IsWord(call.ID, "_-")
}

// resultCallID returns the call id of a result block; "" for anything else.
func resultCallID(raw []byte) string {
	fields, _ := wire.ReadObject(raw)
	return wire.DecodeString(fields["tool_use_id"])
}

// hasResultFor reports whether an answer contains the result of a call that it did not make.
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

// encodeHostedResult returns a result block that a provider of this protocol sent, with the current id of its call.
func encodeHostedResult(id string, raw []byte) (block, bool) {
	fields, ok := wire.ReadObject(raw)
	kind := wire.DecodeString(fields["type"])
	if !ok || !strings.HasSuffix(kind, resultSuffix) || fields["content"] == nil {
		return block{}, false
	}
	return block{
		Type: kind, ToolUseID: id, Content: fields["content"], IsError: string(fields["is_error"]) == "true",
		Caller: fields["caller"],
	}, true
}

// BetaFeatures returns the beta features that a request needs for its options and hosted tools.
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
