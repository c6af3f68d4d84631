package admin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// sessionMove returns the command that moves a session to another directory.
func (g sessionCommands) sessionMove() *cobra.Command {
	var r api.MoveRequest
	cmd := &cobra.Command{
		Use: "move SESSION DIR", Short: "Make a session go on in another directory",
		Long: "Make a session, with its subagents, go on in another directory of its project, such as another worktree or\n" +
			"the new place of a directory that was renamed. A turn that runs ends first; work that is left goes on there.\n" +
			"The model gets the new directory and its instructions. If the session cannot move, nothing changes.\n\n" +
			"With --with-changes, all uncommitted changes of the working tree go along, new files too. They must fit there;\n" +
			"ignored files stay. Without it, the changes stay, and cairn undo in the new directory only names them.",
		Args:    cobra.ExactArgs(2),
		Example: "  cairn session move last ../feature --with-changes\n  cairn session move ses_… ~/src/renamed",
		RunE: g.inv.Action(func(ctx context.Context, args []string) (err error) {
			if r.Directory, err = g.inv.ResolvePath(args[1]); err != nil {
				return err
			}
			return g.inv.WithSession(ctx, args[0], func(ctx context.Context, c *api.Client, s *session.Session) error {
				err := g.moveSession(ctx, c, s, r)
				if e, ok := errors.AsType[*session.Error](err); ok && e.Field == "otherProject" {
					return cli.NewExitError(cli.CodeOf(err), err, "--to-other-project moves it all the same")
				}
				if err != nil {
					return err
				}
				// Say where it is now.
				moved, err := c.Session(ctx, s.ID)
				if err != nil {
					return err
				}
				if g.inv.JSON {
					return g.inv.PrintJSON(moved)
				}
				if moved.Location.Directory == s.Location.Directory {
					g.inv.Note("the session is in " + s.Location.Directory + " already")
					return nil
				}
				g.inv.Out.Printf("%s  %s\n", moved.ID, moved.Location.Directory)
				return nil
			})
		}),
	}
	cmd.Flags().BoolVar(&r.Changes, "with-changes", false, "take the uncommitted changes of the working tree along")
	cmd.Flags().BoolVar(&r.OtherProject, "to-other-project", false, "move it also to a directory of another project")
	// Complete a session, then a directory.
	session := cli.FirstOnly(g.inv.Complete(g.inv.SessionCompletions))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return session(cmd, args, typed)
	}
	return g.inv.AddJSONFlag(cmd)
}

// moveNotice is how long a move may take before the command says what it waits for.
const moveNotice = time.Second

// moveSession moves the session. A move that takes long waits for the turn that runs: it says so, and names what the turn
// waits for.
func (g sessionCommands) moveSession(ctx context.Context, c *api.Client, s *session.Session, r api.MoveRequest) error {
	waiting, moved := context.WithTimeout(ctx, moveNotice)
	var notice sync.WaitGroup
	notice.Go(func() {
		if <-waiting.Done(); errors.Is(waiting.Err(), context.DeadlineExceeded) {
			g.inv.Note(g.describeWait(ctx, c, s))
		}
	})
	err := c.MoveSession(ctx, s.ID, r)
	moved()
	notice.Wait()
	return err
}

// describeWait says what a move of the session waits for.
func (g sessionCommands) describeWait(ctx context.Context, c *api.Client, s *session.Session) string {
	text := fmt.Sprintf("waiting for the end of the turn of session %s, for up to a minute", s.ID)
	if ask, ok := findTurnAsk(ctx, c, s); ok {
		text += "; the turn waits for " + describe.DescribePending(ask)
	}
	return text
}

// findTurnAsk returns a request of the session, or of a subagent for which its turn waits, without an answer.
func findTurnAsk(ctx context.Context, c *api.Client, s *session.Session) (ask session.PendingAsk, ok bool) {
	own, err := follow.PendingAsks(ctx, c, s.ID)
	switch {
	case err != nil:
		return ask, false
	case len(own) > 0:
		return own[0], true
	}
	// Those of the directory, which subagents share.
	asks, err := c.In(s.Location.Directory).Asks(ctx, "")
	if err != nil {
		return ask, false
	}
	for _, a := range asks {
		for id, depth := a.SessionID, 0; id != "" && depth < maxSubagentDepth; depth++ {
			if id == s.ID {
				return a, true
			}
			child, err := c.Session(ctx, id)
			if err != nil {
				break
			}
			id = child.ParentID
		}
	}
	return ask, false
}

// maxSubagentDepth bounds the ancestors of a session that findTurnAsk reads.
const maxSubagentDepth = 20
