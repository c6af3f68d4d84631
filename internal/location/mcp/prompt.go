package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Command is a prompt of a server as a command.
type Command struct {
	Server, Prompt string
	Name           string // server:prompt, cleaned
	Description    string
	Arguments      []string
}

// Commands returns the prompts of all servers, in the order of the servers' names.
func (s *Set) Commands() (out []Command) {
	for _, one := range s.list() {
		for _, p := range one.state().Prompts {
			name := cleanName(one.name) + ":" + cleanName(p.Name)
			out = append(out, Command{one.name, p.Name, name, p.Description, p.Arguments})
		}
	}
	return out
}

// ExpandCommand returns the text of a prompt with its arguments in order.
func (s *Set) ExpandCommand(ctx context.Context, c Command, arguments []string) (string, error) {
	one := s.find(c.Server)
	if one == nil {
		return "", fmt.Errorf("there is no MCP server %q any more", c.Server)
	}
	// Connect.
	ctx, cancel := context.WithTimeout(ctx, one.timeout())
	defer cancel()
	conn, err := one.openSession(ctx)
	if err != nil {
		return "", err
	}
	// Assign the arguments in order; the last takes the rest.
	given := map[string]string{}
	for i, name := range c.Arguments {
		if i < len(arguments) {
			given[name] = arguments[i]
		}
	}
	if len(arguments) > len(c.Arguments) && len(c.Arguments) > 0 {
		last := len(c.Arguments) - 1
		given[c.Arguments[last]] = strings.Join(arguments[last:], " ")
	}
	r, err := conn.GetPrompt(ctx, &sdk.GetPromptParams{Name: c.Prompt, Arguments: given})
	if err != nil {
		return "", fmt.Errorf("the MCP server %s: %s", c.Server, describeError(err))
	}
	// Join the texts.
	var texts []string
	for _, m := range r.Messages {
		if m == nil {
			continue
		}
		switch c := m.Content.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
			}
		}
	}
	return cutText(strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n"), 1<<20), nil
}
