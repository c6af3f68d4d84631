package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// ProjectCompletions returns the ids of the projects with their names.
func ProjectCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Projects(ctx)
	for _, p := range list {
		all = append(all, cobra.CompletionWithDesc(string(p.RecordID), cmp.Or(p.Name, p.Canonical)))
	}
	return all, err
}

// FindProject returns the record that an argument names: by id or the beginning of one, by its name or by its
// directory. "" is the project of the working directory.
func (a *Invocation) FindProject(ctx context.Context, c *api.Client, name string) (session.RecordID, error) {
	// The project of the working directory may have no record yet.
	const hint = "cairn project list shows the projects"
	dir := a.AbsolutePath(name)
	if name == "" || dir == c.Directory {
		at, err := c.Location(ctx)
		if err == nil && at.RecordID == "" {
			err = fmt.Errorf("%s has no project record: nothing can be stored now", c.Directory)
		}
		return at.RecordID, err
	}
	// A name and a directory come before the beginning of an id.
	list, err := c.Projects(ctx)
	if err != nil {
		return "", err
	}
	var named []api.ProjectRecord
	for _, p := range list {
		if p.Name == name || p.Canonical == dir || slices.Contains(p.Sandboxes, dir) {
			named = append(named, p)
		}
	}
	switch len(named) {
	case 0:
		p, err := FindByID(Kind{Name: "project", Hint: hint}, list,
			func(p api.ProjectRecord) session.RecordID { return p.RecordID }, name)
		return p.RecordID, err
	case 1:
		return named[0].RecordID, nil
	default:
		return "", NewExitError(ExitUsage,
			fmt.Errorf("%q is ambiguous: %d projects have this name or directory; give an id", name, len(named)), hint)
	}
}
