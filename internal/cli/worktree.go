package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// newWorktreeName is the value of --worktree without a name.
const newWorktreeName = "*"

// AddWorktreeFlag adds the flag --worktree, whose name is optional.
func AddWorktreeFlag(fs *pflag.FlagSet, name *string) {
	fs.StringVar(name, "worktree", "", "work in a git worktree of its own; --worktree=`NAME` makes that one or continues in it")
	fs.Lookup("worktree").NoOptDefVal = newWorktreeName
}

// CheckWorktreeWords refuses a prompt whose first word was probably meant as the name of the worktree.
func CheckWorktreeWords(name string, words []string) error {
	if name == newWorktreeName && len(words) > 1 && len(strings.Fields(words[0])) == 1 {
		return UsageErrorf("give the name of the worktree as --worktree=%s, or the prompt in quotes", words[0])
	}
	return nil
}

// EnterWorktree returns the directory of a linked worktree of the repository around dir, which it makes and prepares
// unless there is one of that name. It says which one it is.
func (a *Invocation) EnterWorktree(ctx context.Context, dir, name string) (string, error) {
	o, err := a.HostOptions(dir)
	if err != nil {
		return "", err
	}
	var made api.Worktree
	err = a.WithHostClient(ctx, o, func(ctx context.Context, c *api.Client) error {
		w := api.Worktrees{Client: c}
		if name == newWorktreeName {
			name = ""
		}
		// Continue in the worktree of the name.
		all, err := w.List(ctx)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.Name != name || one.Missing && one.Problem == "" {
				continue
			}
			if made = one; one.Problem != "" && !one.Unprepared {
				return UsageErrorf("the worktree %s: %s", name, terminal.ReplaceControls(one.Problem))
			}
			a.Note(fmt.Sprintf("continuing in the worktree %s", describeWorktree(one)))
			if one.Unprepared {
				a.Note("it is not ready: " + terminal.ReplaceControls(one.Problem))
			}
			return nil
		}
		// There is none: make and prepare it.
		if made, err = w.Create(ctx, api.NewWorktree{Name: name, Prepare: true}); err != nil {
			return err
		}
		a.Note(fmt.Sprintf("made the worktree %s", describeWorktree(made)))
		a.NoteUnprepared(made)
		return nil
	})
	return made.Directory, err
}

// NoteUnprepared says why a new worktree could not be prepared, if so, or not wholly.
func (a *Invocation) NoteUnprepared(made api.Worktree) {
	if made.Note != "" {
		a.Note(terminal.ReplaceControls(made.Note))
	}
	if made.Problem != "" {
		a.Note("it could not be prepared: " + terminal.ReplaceControls(made.Problem))
		a.Note("to prepare it again: cairn worktree prepare " + terminal.FirstLine(made.Name, 64))
	}
}

func describeWorktree(w api.Worktree) string {
	text := terminal.FirstLine(w.Directory, 200)
	if w.Branch != "" {
		text += " (branch " + terminal.FirstLine(w.Branch, 100) + ")"
	}
	return strings.TrimSpace(text)
}

// WorktreeCompletions returns the names of the linked worktrees.
func WorktreeCompletions(ctx context.Context, c *api.Client) (out []cobra.Completion, err error) {
	all, err := api.Worktrees{Client: c}.List(ctx)
	for _, w := range all {
		out = append(out, cobra.CompletionWithDesc(w.Name, w.Directory))
	}
	return out, err
}
