package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what one server offers. What is beyond them is left out, and its state says so.
const (
	maxTools       = 256
	maxPrompts     = 256
	maxResources   = 1000
	maxDescription = 16 << 10 // bytes of a description; the rest is cut
	maxSchema      = 256 << 10
	maxInstruction = 16 << 10
	maxName        = 1 << 10
)

// offer is what a server offers.
type offer struct {
	tools        []*remoteTool // sorted by name
	prompts      []Prompt
	resources    []Resource
	hasResources bool
	instructions string
	problems     []string // what was left out, and why
}

// Prompt is a prompt of a server.
type Prompt struct {
	Name        string
	Description string
	Arguments   []string // names, in order
}

// Resource is a resource of a server.
type Resource struct {
	Server, URI, Name, Description, MIME string
}

// readOffer reads the lists of a server. A list that the server does not have is empty; one that fails makes an error
// only if it is that of the tools.
func readOffer(ctx context.Context, session *sdk.ClientSession, server string) (out offer, err error) {
	result := session.InitializeResult()
	if result == nil || result.Capabilities == nil {
		return out, errors.New("it did not say what it can do")
	}
	out.instructions = cutText(result.Instructions, maxInstruction)
	if result.Capabilities.Tools != nil {
		if err := out.readTools(session.Tools(ctx, nil), server); err != nil {
			return out, err
		}
	}
	if result.Capabilities.Prompts != nil {
		for p, err := range limit(session.Prompts(ctx, nil), maxPrompts, "prompts", &out) {
			if err != nil {
				out.problems = append(out.problems, "its prompts cannot be listed: "+describeError(err))
				break
			}
			if p == nil || hasControl(p.Name) {
				continue
			}
			one := Prompt{Name: p.Name, Description: cutText(p.Description, maxDescription)}
			for _, a := range p.Arguments {
				if a != nil {
					one.Arguments = append(one.Arguments, a.Name)
				}
			}
			out.prompts = append(out.prompts, one)
		}
	}
	if result.Capabilities.Resources != nil {
		out.hasResources = true
		for r, err := range limit(session.Resources(ctx, nil), maxResources, "resources", &out) {
			if err != nil {
				out.problems = append(out.problems, "its resources cannot be listed: "+describeError(err))
				break
			}
			if r == nil || hasControl(r.URI) {
				continue
			}
			out.resources = append(out.resources, Resource{server, r.URI, cutText(r.Name, maxName), cutText(r.Description, maxDescription), r.MIMEType})
		}
	}
	return out, nil
}

// hasControl reports whether a name has characters that change what a terminal shows.
func hasControl(name string) bool { return strings.ContainsFunc(name, unicode.IsControl) }

// readTools reads the tools. One that cannot be offered to a model is left out.
func (o *offer) readTools(all iter.Seq2[*sdk.Tool, error], server string) error {
	seen := map[string]string{}
	for t, err := range limit(all, maxTools, "tools", o) {
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		one, err := newRemoteTool(server, t)
		if err == nil && seen[one.name] != "" {
			err = fmt.Errorf("its name is that of %s for models", seen[one.name])
		}
		if err != nil {
			o.problems = append(o.problems, fmt.Sprintf("the tool %.80q is left out: %s", t.Name, describeError(err)))
			continue
		}
		seen[one.name] = t.Name
		o.tools = append(o.tools, one)
	}
	slices.SortFunc(o.tools, func(a, b *remoteTool) int { return strings.Compare(a.name, b.name) })
	o.problems = o.problems[:min(len(o.problems), 10)]
	return nil
}

// limit yields at most n values and notes in o if there are more.
func limit[T any](all iter.Seq2[T, error], n int, what string, o *offer) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		count := 0
		for v, err := range all {
			if count == n {
				o.problems = append(o.problems, fmt.Sprintf("it has more than %d %s; the others are left out", n, what))
				return
			}
			count++
			if !yield(v, err) {
				return
			}
		}
	}
}
