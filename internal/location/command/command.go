// Package command defines the commands of a location: named prompt templates to which users add arguments. Commands are
// built in, configured, written as Markdown files, or skills whose name is not taken by a command.
//
// Expanding a command is a pure function of its template and arguments. The shell lines and files that a template names
// are returned to the caller, who decides whether to run or read them. A template of an untrusted project is plain
// text: nothing in it is run or read.
package command

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

// Source is the origin of a command.
type Source string

// The sources.
const (
	FromCommand Source = "command" // built in or configured
	FromSkill   Source = "skill"
	FromMCP     Source = "mcp" // a prompt of an MCP server
)

// Command is one command.
type Command struct {
	Name        string
	Description string
	Agent       string            // "": the session's
	Model       *session.ModelRef // nil: the session's
	Subtask     *bool             // run in a child session; nil: as the agent's mode says
	Template    string
	Source      Source
	Untrusted   bool // from an untrusted project's files
	// Arguments are names of arguments, and Fetch returns the text for their values. Fetch is nil for commands with a
	// template.
	Arguments []string
	Fetch     func(ctx context.Context, arguments []string) (string, error)
}

// Skill is the part of a skill that a command needs.
type Skill struct{ Name, Description, Content, Directory string }

// Set is the commands of one location, by name. It is immutable and safe for concurrent use.
type Set struct{ commands map[string]Command }

var (
	//go:embed template/init.md
	templateInit string
	//go:embed template/review.md
	templateReview string
)

func builtinCommands() []Command {
	own := true
	return []Command{
		{
			Name:        "init",
			Description: "Write or improve AGENTS.md, which tells agents about this project.",
			Template:    strings.TrimSpace(templateInit),
			Source:      FromCommand,
		},
		{
			Name:        "review",
			Description: "Review changes: uncommitted ones, or a commit, branch or pull request.",
			Template:    strings.TrimSpace(templateReview),
			Subtask:     &own,
			Source:      FromCommand,
		},
	}
}

// New returns the commands of a configuration, and fetched commands and skills whose names are free.
func New(cfg *config.Config, fetched []Command, skills []Skill) *Set {
	// Built-in commands come first.
	s := &Set{map[string]Command{}}
	for _, c := range builtinCommands() {
		s.commands[c.Name] = c
	}
	// Configured ones replace them by name.
	for name, c := range cfg.Command {
		if c.Template == "" {
			continue
		}
		made := Command{
			Name:        name,
			Description: c.Description,
			Agent:       c.Agent,
			Model:       c.Model.Ref(),
			Subtask:     c.Subtask,
			Template:    c.Template,
			Source:      FromCommand,
		}
		if made.Untrusted = cfg.IsUntrustedCommand(name); made.Untrusted {
			made.Agent = "" // the name may be meant for another template
		}
		if made.Model != nil && c.Variant != "" {
			made.Model.Variant = c.Variant
		}
		s.commands[name] = made
	}
	for _, c := range fetched {
		if _, taken := s.commands[c.Name]; !taken {
			s.commands[c.Name] = c
		}
	}
	// A skill is a command unless the name is taken.
	for _, k := range skills {
		if _, taken := s.commands[k.Name]; !taken {
			text := k.Content + "\n\nRelative paths in this start from " + k.Directory + "."
			s.commands[k.Name] = Command{Name: k.Name, Description: k.Description, Template: text, Source: FromSkill}
		}
	}
	return s
}

// List returns all commands by name.
func (s *Set) List() []Command {
	return slices.SortedFunc(maps.Values(s.commands), func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
}

// Get returns a command by name. An unknown name is a *session.Error with similar ones.
func (s *Set) Get(name string) (Command, error) {
	c, ok := s.commands[strings.TrimPrefix(name, "/")]
	if !ok {
		return c, session.NotFound("command", name, spelling.FindNearest(name, slices.Sorted(maps.Keys(s.commands)), 3)...).At("command")
	}
	return c, nil
}

// Placeholders returns the placeholders of the template: $1, $2 … sorted as text, then $ARGUMENTS.
func (c Command) Placeholders() []string {
	if c.Fetch != nil {
		hints := []string{}
		for i := range c.Arguments {
			hints = append(hints, "$"+strconv.Itoa(i+1))
		}
		return hints
	}
	hints := placeholder.FindAllString(c.Template, -1)
	slices.Sort(hints)
	hints = slices.Compact(hints)
	if strings.Contains(c.Template, allArguments) {
		hints = append(hints, allArguments)
	}
	return append([]string{}, hints...)
}
