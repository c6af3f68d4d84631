package admin

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

// CompactionResult is the output of `session compact --json`.
type CompactionResult struct {
	OK        bool              `json:"ok"` // false if there is nothing to summarise
	SessionID session.ID        `json:"sessionID"`
	MessageID session.MessageID `json:"messageID,omitzero"` // of the summary
	Before    int64             `json:"before,omitzero"`    // tokens of the next request, estimated
	After     int64             `json:"after,omitzero"`
	Model     string            `json:"model,omitzero"` // that wrote the summary
	Cost      session.USD       `json:"cost"`
	Tokens    session.Tokens    `json:"tokens"`
}

// compactCommands are `cairn session compact` and `uncompact`.
type compactCommands struct{ inv *cli.Invocation }

// sessionCompact returns the command that compacts a session, or shows with --preview what it would do.
func (g compactCommands) sessionCompact() *cobra.Command {
	var preview, full bool
	var instructions, model string
	cmd := &cobra.Command{
		Use: "compact [SESSION]", Short: "Replace what the model sees of the history by a summary",
		Long: "Replace what the model sees of a session's history by a summary that a model writes. The newest\n" +
			"messages stay as they are, and the log keeps everything: cairn session uncompact undoes it. Of a\n" +
			"session at work, the history is summarised before its next request. --preview asks no model: it\n" +
			"shows what would be summarised, what stays, and the facts that cairn adds to the summary.",
		Args: cobra.MaximumNArgs(1),
		Example: "  cairn session compact\n  cairn session compact last --instructions \"Keep the measurements\"\n" +
			"  cairn session compact last --preview --full",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Check the flags before anything is connected.
			r := api.CompactRequest{Instructions: instructions}
			if model != "" {
				ref, err := cli.ParseModel(model)
				if err != nil {
					return err
				}
				r.Model = ref
			}
			if full && !preview {
				return cli.UsageErrorf("--full goes with --preview")
			}
			// Find the session, then compact or preview.
			return g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) error {
					if preview {
						return g.previewCompaction(ctx, c, s, compactOptions{r, full})
					}
					return g.compact(ctx, c, s, compactOptions{r, full})
				})
		}),
	}
	cmd.Flags().StringVar(&instructions, "instructions", "", "tell the writer of the summary what to keep: `TEXT`")
	cmd.Flags().StringVarP(&model, "model", "m", "", "let `PROVIDER/MODEL` write the summary")
	cmd.Flags().BoolVar(&preview, "preview", false, "show what would be summarised; no model is asked")
	cmd.Flags().BoolVar(&full, "full", false, "with --preview, show the question to the writer, too")
	return g.inv.AddJSONFlag(cmd)
}

// compactOptions are the flags of session compact.
type compactOptions struct {
	request api.CompactRequest
	full    bool
}

func (g compactCommands) previewCompaction(
	ctx context.Context, c *api.Client, s *session.Session, o compactOptions,
) error {
	request := session.CompactionRequest{Instructions: o.request.Instructions, Model: o.request.Model}
	p, err := api.Contexts{Client: c}.PreviewCompaction(ctx, s.ID, request, o.full)
	if err != nil {
		return err
	}
	if g.inv.JSON {
		return g.inv.PrintJSON(p)
	}
	out := g.inv.Out
	out.Printf("next request:      %s tokens\n", terminal.FormatCount(p.Before))
	out.Printf("summarised:        %s\n", formatShare(p.Summarised))
	out.Printf("kept as it is:     %s\n", formatShare(p.Kept))
	writer := terminal.FirstLine(p.Writer.String(), 60)
	out.Printf("summary:           %s of %s\n", terminal.FormatPlural(p.Requests, "request"), writer)
	if p.Record != "" {
		out.Printf("\n%s\n", out.PaintText(terminal.Cyan, "--- facts that cairn adds to the summary"))
		out.WriteText(p.Record + "\n")
	}
	for _, text := range []struct{ name, text string }{{"system", p.System}, {"question", p.Question}} {
		if text.text != "" {
			out.Printf("\n%s\n", out.PaintText(terminal.Cyan, "--- "+text.name))
			out.WriteText(strings.TrimRight(text.text, "\n") + "\n")
		}
	}
	return nil
}

func formatShare(s api.ContextShare) string {
	return fmt.Sprintf("%s, %s tokens", terminal.FormatPlural(s.Messages, "message"), terminal.FormatCount(s.Tokens))
}

// compact requests the compaction and shows it until it has ended. A signal withdraws the request, or interrupts the
// summary.
func (g compactCommands) compact(ctx context.Context, c *api.Client, s *session.Session, o compactOptions) error {
	// Sample where to follow from before the request, so that no event is missed.
	newest, err := c.Messages(ctx, s.ID, api.MessageQuery{Limit: 1})
	if err != nil {
		return err
	}
	after := int64(-1)
	for _, m := range newest.Data {
		after = m.Meta().Seq
	}
	before, err := c.Status(ctx, s.ID)
	if err != nil {
		return err
	}
	item, err := c.Compact(ctx, s.ID, o.request)
	if err != nil {
		return err
	}
	if before.Type != api.StatusIdle && !g.inv.JSON {
		g.inv.Note("the session is at work; its history is summarised before its next request")
	}
	w := &compactionWatch{inv: g.inv, id: item.ID}
	o.request.ID = item.ID
	err = w.follow(ctx, c, s.ID, after, o.request)
	switch {
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), w.cancel(context.WithoutCancel(ctx), c, s.ID))
	case err != nil:
		return err
	}
	return g.reportCompaction(s, w)
}

// compactionWatch follows one requested compaction.
type compactionWatch struct {
	inv *cli.Invocation
	id  session.MessageID // of the request

	started   bool
	ended     *session.CompactionEnded
	failed    *session.CompactionFailed
	withdrawn bool
}

// follow shows events until the compaction has ended.
func (w *compactionWatch) follow(
	ctx context.Context, c *api.Client, id session.ID, after int64, request api.CompactRequest,
) error {
	watch := follow.Start(ctx, c, id, follow.Options{After: after})
	defer watch.Stop()
	var lost <-chan time.Time // fires when the connection has been lost for too long
	for {
		select {
		case u, open := <-watch.C:
			switch {
			case !open:
				return context.Cause(ctx)
			case u.End != nil:
				return u.End
			case u.Event != nil && w.observe(*u.Event):
				return nil
			case u.Lost != nil:
				lost = follow.LostTimer(u.Since)
			case u.Found: // the next owner may have to end what the last one left open
				lost = nil
				if _, err := c.Compact(ctx, id, request); err != nil && !follow.IsConnectionLost(err) {
					return err
				}
			}
		case <-lost:
			return errors.New("the connection to cairn was lost and could not be restored")
		}
	}
}

// observe takes an event and reports whether the compaction has ended.
func (w *compactionWatch) observe(e session.Event) (done bool) {
	switch d := e.Data.(type) {
	case *session.CompactionStarted:
		if d.RequestID == w.id && !w.started {
			w.started = true
			if !w.inv.JSON {
				w.inv.Err.Printf("summarising the history with %s\n", writerName(d.SummaryAs))
			}
		}
	case *session.Retried:
		if w.started && !w.inv.JSON {
			w.inv.Note(describe.DescribeRetry(d))
		}
	case *session.CompactionEnded:
		if d.RequestID == w.id {
			w.ended = d
		}
	case *session.CompactionFailed:
		if d.RequestID == w.id {
			w.failed = d
		}
	case *session.InputWithdrawn:
		w.withdrawn = w.withdrawn || d.MessageID == w.id
	}
	return w.ended != nil || w.failed != nil || w.withdrawn
}

func writerName(as session.SummaryAs) string {
	if as.Writer == nil {
		return "the model"
	}
	return terminal.FirstLine(as.Writer.String(), 80)
}

// cancel withdraws the request or, once it is carried out, interrupts the summary.
func (w *compactionWatch) cancel(ctx context.Context, c *api.Client, id session.ID) error {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.Inbox().Withdraw(ctx, id, w.id); err == nil {
		w.inv.Note("the request was withdrawn; the history is as it was before")
		return nil
	}
	if !w.started {
		return nil
	}
	w.inv.Note("interrupting the summary; the history is as it was before")
	return c.Interrupt(ctx, id)
}

// reportCompaction prints how the compaction came out.
func (g compactCommands) reportCompaction(s *session.Session, w *compactionWatch) error {
	if w.failed != nil {
		err := errors.New(describe.DescribeCompactionFailure(w.failed))
		return cli.NewExitError(cli.CodeOfReason(w.failed.Error.Reason), err, "the session is as it was before")
	}
	r := CompactionResult{SessionID: s.ID}
	text := "there is nothing to summarise"
	if e := w.ended; e != nil {
		r.OK, r.MessageID, r.Before, r.After = true, e.MessageID, e.Before, e.After
		if e.Request != nil {
			r.Model, r.Cost, r.Tokens = e.Request.Model.String(), e.Request.Cost, e.Request.Tokens
		}
		text = describe.DescribeCompaction(e)
	}
	if g.inv.JSON {
		g.inv.PrintJSONLine(r)
		return nil
	}
	g.inv.Err.Printf("%s\n", text)
	return nil
}

func (g compactCommands) sessionUncompact() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "uncompact [SESSION]", Short: "Undo the newest summary of a session's history",
		Args: cobra.MaximumNArgs(1),
		Long: "Undo the newest compaction of a session: the model reads again what the summary replaced, with the\n" +
			"system context of that time. If that does not fit the model's window, the next turn summarises it again.",
		Example: "  cairn session uncompact last",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			err := c.Uncompact(ctx, s.ID)
			return g.inv.FinishChange(err, cli.Change{SessionID: s.ID}, describe.CompactionUndone)
		}),
	})
}
