package describe

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// FormatMCPServer returns the lines about an MCP server: its state, where it is, and what it offers.
func FormatMCPServer(s api.MCPServer) []string {
	head := terminal.FirstLine(s.Name, 60) + " " + MCPState(s)
	lines := []string{head}
	if s.Source != "" {
		lines = append(lines, "  from "+terminal.FirstLine(s.Source, 300))
	}
	for _, t := range s.Tools {
		hint := ""
		switch {
		case t.ReadOnly:
			hint = " (says that it only reads)"
		case t.Destructive:
			hint = " (says that it may destroy)"
		}
		lines = append(lines, "  tool "+t.Name+hint+": "+terminal.FirstLine(t.Description, 200))
	}
	for _, name := range s.Prompts {
		lines = append(lines, "  command /"+terminal.FirstLine(name, 100))
	}
	if s.Resources > 0 {
		lines = append(lines, fmt.Sprintf("  resources: %d", s.Resources))
	}
	return lines
}

// MCPState returns the state of an MCP server, with all that is wrong, on one line.
func MCPState(s api.MCPServer) string {
	if s.Status.Error == "" {
		return s.Status.Status
	}
	return s.Status.Status + ": " + terminal.FirstLine(s.Status.Error, 1000)
}
