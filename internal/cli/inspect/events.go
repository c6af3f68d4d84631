package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// eventCommands are `cairn events`.
type eventCommands struct{ inv *cli.Invocation }

func (g eventCommands) eventsCommand() *cobra.Command {
	var f eventFlags
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "events [SESSION]", Short: "Print the event log of a session, or follow it", Args: cobra.MaximumNArgs(1),
		Long: "Print the recorded events of a session in order, one per line. With --follow, continue with new events. To\n" +
			"resume after an interruption, pass the last printed number to --after.",
		Example: "  cairn events last\n  cairn events ses_… --follow --json\n" +
			"  cairn events --all --follow            follow the events of all sessions",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if f.all && len(args) > 0 {
				return cli.UsageErrorf("--all includes every session; omit %s", terminal.FirstLine(args[0], 60))
			}
			if f.all && !f.follow {
				return cli.UsageErrorf("--all needs --follow; to print one session's log, run cairn events SESSION")
			}
			if f.after < 0 && cmd.Flags().Changed("after") {
				return cli.UsageErrorf("--after must be the number of an event, 0 or more, got %d", f.after)
			}
			return g.runEvents(ctx, &f, cli.FirstArg(args, "last"))
		}),
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "continue with new events")
	cmd.Flags().Int64Var(&f.after, "after", -1, "print only events after this `NUMBER`")
	cmd.Flags().BoolVar(&f.all, "all", false, "with --follow, print the events of all sessions")
	cmd.Flags().BoolVar(&f.live, "live", false, "with --follow, include text that is still being streamed")
	return g.inv.AddJSONFlag(cmd)
}

type eventFlags struct {
	follow, all, live bool
	after             int64
}

// runEvents prints the events of a session, or of all with f.all. With f.follow it connects again after a lost
// connection and continues at its cursor.
func (g eventCommands) runEvents(ctx context.Context, f *eventFlags, name string) error {
	cursor := f.after
	var id session.ID
	for {
		err := g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
			if !f.all && id == "" {
				s, err := g.inv.FindSession(ctx, c, name)
				if err != nil {
					return err
				}
				// The session is found once: "last" must not change while it is followed.
				id = s.ID
			}
			if !f.follow {
				return g.showHistory(ctx, c, f, id)
			}
			return g.showTail(ctx, c, f, tailState{id, &cursor})
		})
		if !f.follow || !follow.IsConnectionLost(err) {
			if errors.Is(err, cli.ErrSignal) {
				return nil // this is how following ends
			}
			return err
		}
		// The connection was lost: wait for the next owner.
		timer := time.NewTimer(200 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (g eventCommands) showHistory(ctx context.Context, c *api.Client, f *eventFlags, id session.ID) error {
	for cursor := f.after; ; {
		h, err := c.History(ctx, id, cursor, 100)
		if err != nil {
			return err
		}
		for i := range h.Data {
			cursor = h.Data[i].Seq
			g.showEvent(&h.Data[i], f)
		}
		if !h.HasMore || len(h.Data) == 0 || g.inv.Out.Err != nil {
			return g.inv.Out.Err
		}
	}
}

// tailState is the log that is followed and the position up to which it was read: a seq of the session, or a position
// of the store for id "".
type tailState struct {
	id     session.ID
	cursor *int64
}

func (g eventCommands) showTail(ctx context.Context, c *api.Client, f *eventFlags, t tailState) error {
	stream := c.Tail(ctx, t.id, *t.cursor)
	switch {
	case f.all:
		stream = c.Feed(ctx, *t.cursor)
	case f.live:
		stream = c.Follow(ctx, t.id, *t.cursor)
	}
	for u, err := range stream {
		if err != nil {
			return err
		}
		switch {
		case u.Event != nil:
			*t.cursor = u.Event.Seq
			if f.all {
				*t.cursor = u.Event.Position
			}
			g.showEvent(u.Event, f)
		case u.Fragment != nil && f.live:
			g.showFragment(u.Fragment)
		}
		if g.inv.Out.Err != nil {
			return g.inv.Out.Err
		}
	}
	return nil
}

func (g eventCommands) showEvent(e *session.Event, f *eventFlags) {
	if g.inv.JSON {
		g.inv.PrintJSONLine(e)
		return
	}
	at := time.UnixMilli(e.Data.Stamp().Timestamp).Format("15:04:05.000")
	where := fmt.Sprintf("%6d", e.Seq)
	if f.all {
		where = string(e.SessionID) + " " + where
	}
	g.inv.Out.Printf(
		"%s  %s  %s  %s\n",
		where,
		g.inv.Out.PaintText(terminal.Dim, at),
		e.Data.Kind(),
		terminal.FirstLine(summarizeEvent(e.Data), 120),
	)
}

func (g eventCommands) showFragment(f *session.Fragment) {
	if g.inv.JSON {
		g.inv.PrintJSONLine(f)
		return
	}
	g.inv.Out.Printf("%6s  %12s  %s  %s\n", "", "", f.Kind(), terminal.FirstLine(f.Delta, 120))
}

// summarizeEvent describes an event in a few words for people.
func summarizeEvent(d session.EventData) string {
	// By subject: the session, prompts, turns, items, calls, asks, failures, summaries, jobs.
	switch d := d.(type) {
	case *session.Created:
		return d.Info.Location.Directory
	case *session.PromptAdmitted:
		return string(d.Delivery) + ": " + d.Prompt.Text + describe.FormatExtensions(d.Extensions)
	case *session.Prompted:
		return d.Prompt.Text
	case *session.SyntheticAdded:
		return d.Text
	case *session.StepStarted:
		about := d.Agent + " " + d.Model.String()
		if d.Prefix != nil && d.Prefix.Changed != "" {
			about += ", not read from the cache: " + d.Prefix.Changed
		}
		if d.Altered != nil {
			about += describe.FormatExtensions(d.Altered.By)
		}
		return about
	case *session.StepEnded:
		tokens, cost := terminal.FormatCount(d.Tokens.Sum()), describe.FormatCost(d.Cost, d.Tokens)
		return fmt.Sprintf("%s, %s tokens, cost %s", d.Finish, tokens, cost)
	case *session.StepFailed:
		return string(d.Error.Reason) + ": " + d.Error.Message
	case *session.TextEnded:
		return d.Text
	case *session.ReasoningEnded:
		return d.Text
	case *session.ToolInputStarted:
		return d.Name
	case *session.ToolCalled:
		if x := d.Extensions; x != nil {
			return describe.DescribeCall(d.Tool, d.Input) + describe.FormatExtensions(x.By)
		}
		return describe.DescribeCall(d.Tool, d.Input)
	case *session.ToolSuccess:
		if d.Replaced != nil {
			return d.Title + describe.FormatExtensions(d.Replaced.By)
		}
		return d.Title
	case *session.ToolFailed:
		return string(d.Error.Reason) + ": " + d.Error.Message
	case *session.PermissionAsked:
		return describe.AskSummary(d.Ask)
	case *session.PermissionReplied:
		return string(d.Reply) + " by " + string(d.By) + " " + d.Message
	case *session.Retried:
		return d.Error.Message
	case *session.Interrupted:
		return d.Error.Message
	case *session.Renamed:
		return d.Title
	case *session.Summarized:
		return d.Text
	case *session.Tagged:
		return strings.Join(d.Tags, ", ")
	case *session.JobStarted:
		return d.Job.Command
	case *session.JobEnded:
		return string(d.Status) + " " + string(d.JobID)
	default:
		return describe.DescribeEvent(d)
	}
}
