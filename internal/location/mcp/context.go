package mcp

import (
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// Key is the key of the source of the system context.
const Key = "core/mcp-instructions"

// guidance is what a server says about its use.
type guidance struct {
	Server string `json:"server"`
	Text   string `json:"text"`
}

// Context returns the source of the servers' own instructions: of those with a tool that the rules do not deny. As with
// descriptions of tools, changed instructions stay as they were until a call is allowed again. It is empty without any.
func (s *Set) Context(layers []permission.Layer) systemcontext.Context {
	var list []guidance
	for _, one := range s.list() {
		one.mu.Lock()
		found := one.offer
		one.mu.Unlock()
		text := found.instructions
		if before, ok := s.pool.options.Approvals.find(s.directory, guidanceName(one.name)); ok {
			text = before.Guidance
		}
		if text == "" {
			continue
		}
		for _, t := range found.tools {
			if permission.Evaluate(layers, nil, t.name, "*").Effect != session.Deny {
				list = append(list, guidance{one.name, text})
				break
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return systemcontext.Context{systemcontext.Make(systemcontext.Spec[[]guidance]{
		Key: Key, Value: list,
		Baseline: func(l []guidance) string {
			return "The MCP servers say this about the use of their tools, which begin with the server's name:\n" +
				formatGuidance(l)
		},
		Update: func(_, l []guidance) string {
			return "What MCP servers say about their tools has changed. Only this counts now:\n" + formatGuidance(l)
		},
		Removal: func([]guidance) string { return "No MCP server says anything about its tools any more." },
	})}
}

// ownTag is the beginning of a tag of formatGuidance, which instructions must not have.
var ownTag = regexp.MustCompile(`(?i)<(\s*/?\s*mcp-server)`)

func formatGuidance(list []guidance) string {
	var b strings.Builder
	for _, g := range list {
		text := ownTag.ReplaceAllString(strings.TrimSpace(g.Text), "&lt;$1")
		b.WriteString("<mcp-server name=\"" + cleanName(g.Server) + "\">\n" + text + "\n</mcp-server>\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
