// Package command holds the commands of a location: prompts with a name, of which the user says only what differs. They
// are built in, written in the configuration or as Markdown, or skills that nobody else has the name of (spec/v1 §24).
//
// Expanding a command is a pure function of its template and of what stands behind its name. What a template wants to
// have run, and the files that it names, are told to the caller, who does that or not. Of a project that nobody trusts only
// words are here, and they stay words.
package command

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// Source says where a command comes from.
type Source string

// The sources.
const (
	FromCommand Source = "command" // built in, or of the configuration
	FromSkill   Source = "skill"
)

// Command is one command.
type Command struct {
	Name        string
	Description string
	Agent       string            // who works; "" whoever does
	Model       *session.ModelRef // which model answers; nil whichever does
	Subtask     *bool             // in a session of its own; nil as the agent's mode says
	Template    string
	Source      Source
	Anybodys    bool // of files that nobody trusts
}

// Skill is what of a skill makes a command.
type Skill struct{ Name, Description, Content, Directory string }

// Set is the commands of one location, by name. It never changes; safe for concurrent use.
type Set struct{ commands map[string]Command }

var (
	//go:embed template/init.md
	templateInit string
	//go:embed template/review.md
	templateReview string
)

func builtins() []Command {
	own := true
	return []Command{
		{Name: "init", Description: "Write or improve AGENTS.md, which tells agents about this project.", Template: strings.TrimSpace(templateInit), Source: FromCommand},
		{Name: "review", Description: "Review changes: uncommitted ones, or a commit, branch or pull request.", Template: strings.TrimSpace(templateReview), Subtask: &own, Source: FromCommand},
	}
}

// New makes the commands of a configuration, and of skills whose names are free.
func New(cfg *config.Config, skills []Skill) *Set {
	s := &Set{map[string]Command{}}
	for _, c := range builtins() {
		s.commands[c.Name] = c
	}
	for name, c := range cfg.Command {
		if c.Template == "" {
			continue
		}
		made := Command{Name: name, Description: c.Description, Agent: c.Agent, Model: c.Model.Ref(), Subtask: c.Subtask, Template: c.Template, Source: FromCommand}
		if made.Anybodys = cfg.IsUntrustedCommand(name); made.Anybodys {
			made.Agent = "" // whoever named it did not know these words
		}
		if made.Model != nil && c.Variant != "" {
			made.Model.Variant = c.Variant
		}
		s.commands[name] = made
	}
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

// Get returns the command of the name. An unknown one is a *session.Error that lists what there is.
func (s *Set) Get(name string) (Command, error) {
	c, ok := s.commands[strings.TrimPrefix(name, "/")]
	if !ok {
		return c, session.NotFound("command", name, slices.Sorted(maps.Keys(s.commands))...).At("command")
	}
	return c, nil
}

// Hints are the places of a template that what is typed goes to: $1, $2 … as text sorts them, then $ARGUMENTS.
func (c Command) Hints() []string {
	hints := placeholder.FindAllString(c.Template, -1)
	slices.Sort(hints)
	hints = slices.Compact(hints)
	if strings.Contains(c.Template, allArguments) {
		hints = append(hints, allArguments)
	}
	return append([]string{}, hints...)
}
