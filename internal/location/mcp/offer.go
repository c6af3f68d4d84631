package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// Bounds of what one server offers. What is beyond them is left out, and its state says so.
const (
	maxTools       = 256
	maxPrompts     = 256
	maxResources   = 1000
	maxDescription = 16 << 10 // bytes of a description; the rest is cut
	maxSchema      = 256 << 10
	maxInstruction = 16 << 10
	maxName        = 1 << 10 // of names, URIs and media types; what has a longer name or URI is left out
	maxProblems    = 10
	maxArguments   = 64 // of a prompt
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
func readOffer(ctx context.Context, opened *sdk.ClientSession, server string) (out offer, err error) {
	result := opened.InitializeResult()
	if result == nil || result.Capabilities == nil {
		return out, errors.New("it did not say what it can do")
	}
	// Tools must be readable.
	out.instructions = cutText(result.Instructions, maxInstruction)
	if result.Capabilities.Tools != nil {
		if err := out.readTools(opened.Tools(ctx, nil), server); err != nil {
			return out, err
		}
	}
	// Prompts and resources may be missing.
	if result.Capabilities.Prompts != nil {
		out.readPrompts(opened.Prompts(ctx, nil))
	}
	if result.Capabilities.Resources != nil {
		out.hasResources = true
		out.readResources(opened.Resources(ctx, nil), server)
	}
	out.problems = out.problems[:min(len(out.problems), maxProblems)]
	return out, nil
}

// isBadName reports whether a name or a URI is too long, or changes what a terminal shows.
func isBadName(name string) bool {
	return len(name) > maxName || terminal.ReplaceControls(name) != name
}

// leaveOut notes what is left out and why.
func (o *offer) leaveOut(kind, name string, why error) {
	o.problems = append(o.problems, fmt.Sprintf("the %s %.80q is left out: %s", kind, name, describeError(why)))
}

var errBadName = errors.New("its name is too long or has control characters")

// readTools reads the tools. One that cannot be offered to a model is left out.
func (o *offer) readTools(all iter.Seq2[*sdk.Tool, error], server string) error {
	seen := map[string]string{}
	for t, err := range takeAtMost(all, maxTools, "tools", o) {
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if why := findProblem(t.Meta); why != "" {
			o.leaveOut("tool", t.Name, errors.New(why))
			continue
		}
		one, err := newRemoteTool(server, o.instructions, t)
		if err == nil && seen[one.name] != "" {
			err = fmt.Errorf("its name is that of %s for models", seen[one.name])
		}
		if err != nil {
			o.leaveOut("tool", t.Name, err)
			continue
		}
		seen[one.name] = t.Name
		o.tools = append(o.tools, one)
	}
	slices.SortFunc(o.tools, func(a, b *remoteTool) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (o *offer) readPrompts(all iter.Seq2[*sdk.Prompt, error]) {
	for p, err := range takeAtMost(all, maxPrompts, "prompts", o) {
		if err != nil {
			o.problems = append(o.problems, "its prompts cannot be listed: "+describeError(err))
			return
		}
		if p == nil {
			continue
		}
		if why := findProblem(p.Meta); why != "" {
			o.leaveOut("prompt", p.Name, errors.New(why))
			continue
		}
		one := Prompt{Name: p.Name, Description: cutText(p.Description, maxDescription)}
		for _, a := range p.Arguments {
			if a != nil && len(one.Arguments) < maxArguments {
				one.Arguments = append(one.Arguments, a.Name)
			}
		}
		if isBadName(p.Name) || slices.ContainsFunc(one.Arguments, isBadName) {
			o.leaveOut("prompt", p.Name, errBadName)
			continue
		}
		o.prompts = append(o.prompts, one)
	}
}

func (o *offer) readResources(all iter.Seq2[*sdk.Resource, error], server string) {
	for r, err := range takeAtMost(all, maxResources, "resources", o) {
		if err != nil {
			o.problems = append(o.problems, "its resources cannot be listed: "+describeError(err))
			return
		}
		if r == nil {
			continue
		}
		if why := findProblem(r.Meta); why != "" {
			o.leaveOut("resource", cmp.Or(r.URI, r.Name), errors.New(why))
			continue
		}
		if isBadName(r.URI) {
			o.leaveOut("resource", r.URI, errBadName)
			continue
		}
		o.resources = append(o.resources, Resource{
			Server: server, URI: r.URI, Name: cutText(r.Name, maxName),
			Description: cutText(r.Description, maxDescription), MIME: cutText(r.MIMEType, maxName),
		})
	}
}

// takeAtMost yields at most n values and notes in o if there are more.
func takeAtMost[T any](all iter.Seq2[T, error], n int, what string, o *offer) iter.Seq2[T, error] {
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
