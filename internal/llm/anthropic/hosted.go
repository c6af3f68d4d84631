package anthropic

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Continuation metadata in our namespace: what the provider wants back with the next request, verbatim.
const (
	namespace    = "anthropic"
	keyCitations = "citations"  // of a text
	keyServer    = "serverName" // the MCP server that the provider asked
)

// hostedBlocks are the call of a tool that the provider ran, and its result, as they came. What another provider ran, or
// what came without a result and is not the end of the conversation, is told in notes.
func hostedBlocks(call llm.ToolCall, result *llm.ToolResult, last bool) []block {
	server := wire.Plain(wire.Stash(call.Metadata, namespace)[keyServer])
	id, prefix, kind := call.ID, "srvtoolu_", "server_tool_use"
	if server != "" {
		prefix, kind = "mcptoolu_", "mcp_tool_use"
	}
	out := []block{{Type: kind, ID: id, Name: call.Name, Server: server, Input: wire.Input(call.Input)}}
	ours := strings.HasPrefix(id, prefix) && wire.IsWord(id, "_-")
	if ours && (result == nil || len(result.Raw) == 0) && last {
		return out
	}
	if result != nil && ours {
		if b, ok := hostedResult(id, result.Raw); ok && (b.Type == "mcp_tool_result") == (server != "") {
			return append(out, b)
		}
	}
	out = []block{note(wire.HostedCallNote(call))}
	if result != nil {
		out = append(out, hostedNote(*result))
	}
	return out
}

// hostedResult returns a result block that a provider of this protocol sent, with the id of the call as it is now.
func hostedResult(id string, raw []byte) (block, bool) {
	fields, ok := wire.ReadObject(raw)
	kind := wire.Plain(fields["type"])
	if !ok || !strings.HasSuffix(kind, resultSuffix) || fields["content"] == nil {
		return block{}, false
	}
	return block{Type: kind, ToolUseID: id, Content: fields["content"], IsError: string(fields["is_error"]) == "true"}, true
}

func hostedNote(r llm.ToolResult) block {
	var lines []string
	for _, p := range r.Content {
		if t, ok := p.(llm.Text); ok {
			lines = append(lines, t.Text)
		}
	}
	if len(lines) == 0 {
		lines = []string{string(r.Raw)}
	}
	return note(wire.HostedResultNote(r, strings.Join(lines, "\n")))
}
