package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// promptRun takes one prompt from the command line to its outcome: it connects, sets up the session, follows the work
// and says how it came out.
type promptRun struct {
	inv     *cli.Invocation
	plan    plan
	printer printer.Printer
	desk    *askDesk
	started time.Time
	stop    <-chan struct{} // Ctrl-C

	client   *api.Client // nil before the connection is open
	owner    string      // the other process that does the work, if one does
	setup    setup
	progress *follow.Progress // nil until the prompt is admitted
	stopped  cli.ExitCode     // why we interrupted the session; 0: we did not
	left     bool             // the person has left the conversation
	pressed  bool             // Ctrl-C was pressed when the prompt had just been admitted
	deleted  bool             // the session does not exist any more
	after    afterwork
}

// afterwork is what is read when the work is done. What cannot be read stays unknown.
type afterwork struct {
	offer   string   // names a model in place of the guide
	missing []string // addresses of instructions that were never fetched
	servers []string // notes about MCP servers whose tools the work lacked
	fill    float64  // of the model's window in percent; 0 is unknown
}

// errTimeout is the cause with which --timeout ends waiting.
var errTimeout = errors.New("the timeout passed")

// connect calls f with a connection to the server of the plan, or to the owner of the store on this machine.
func (r *promptRun) connect(ctx context.Context, f func(context.Context) error) error {
	opening, cancel := r.untilStopped(ctx)
	if r.plan.server != nil {
		conn, err := r.plan.server.connect(opening, r.inv)
		cancel()
		if err != nil {
			return err
		}
		r.client, r.plan.options.Dir = conn.API, conn.API.Directory
		err = f(ctx)
		r.deleteEphemeral(ctx)
		return err
	}
	release, err := r.holdEphemeral(opening)
	if err != nil {
		cancel()
		return err
	}
	h, err := r.inv.OpenHostClient(opening, r.plan.options)
	cancel()
	if err != nil {
		release(true) // it was not created
		return err
	}
	r.client, r.owner = h.API, h.Owner
	err = f(ctx)
	release(r.deleteEphemeral(ctx))
	if closing := h.Close(ctx, r.printer.ShowNote); closing != nil && ctx.Err() == nil {
		r.printer.ShowNote("closing: " + closing.Error())
	}
	return err
}

// run returns nil when the progress says how the prompt's work came out. The connection is open.
func (r *promptRun) run(ctx context.Context) error {
	err := r.admit(ctx)
	if err == nil {
		err = r.showWork(ctx)
	}
	r.readAfterwork(ctx)
	r.deleted = errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) ||
		err == nil && r.progress.Failure != nil && r.progress.Failure.Message == session.DeletedMessage
	if r.progress != nil && r.deleted {
		return fmt.Errorf("session %s was deleted while it was working", r.plan.id)
	}
	return err
}

// untilStopped is the context of what may be given up at the first Ctrl-C or when --timeout passes.
func (r *promptRun) untilStopped(ctx context.Context) (context.Context, func()) {
	ctx, release := cli.UntilReceived(ctx, r.stop)
	if r.plan.timeout == 0 {
		return ctx, release
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.started.Add(r.plan.timeout), errTimeout)
	return ctx, func() { cancel(); release() }
}

// admit sets the session up and sends the prompt. If it is stopped while the prompt is on its way, it takes the prompt
// back.
func (r *promptRun) admit(ctx context.Context) error {
	whole := ctx
	ctx, cancel := r.untilStopped(ctx)
	defer cancel()
	r.setup.inv, r.setup.plan, r.setup.client, r.setup.desk = r.inv, &r.plan, r.client, r.desk
	err := follow.RepeatUntilAnswered(ctx, func() (err error) {
		r.progress, err = r.setup.run(ctx)
		return err
	})
	if follow.IsConnectionLost(err) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r.pressed = err == nil && errors.Is(context.Cause(ctx), cli.ErrSignal)
	if err == nil && !r.plan.openCode && !r.plan.typed {
		r.noteUnfinished(ctx)
	}
	if err != nil && r.setup.sent && ctx.Err() != nil && whole.Err() == nil {
		stop := stopWork(whole, r.client, r.plan.id, r.plan.message, false)
		if !errors.Is(stop, &session.Error{Code: session.CodeNotFound}) {
			return cmp.Or(stop, err)
		}
	}
	return err
}

// showWork shows the work on the prompt until it is done.
func (r *promptRun) showWork(ctx context.Context) error {
	l := r.newLoop()
	l.progress, l.prompt, l.pressed = r.progress, r.setup.promptRequest(), r.pressed
	if r.plan.timeout > 0 {
		l.late = time.After(time.Until(r.started.Add(r.plan.timeout)))
	}
	err := l.run(ctx, follow.Options{After: r.progress.Cursor})
	r.stopped, r.left = l.stopped, l.left
	return err
}

// newLoop returns a loop that shows the work of the session.
func (r *promptRun) newLoop() *workLoop {
	l := &workLoop{
		inv: r.inv, client: r.client, id: r.plan.id, printer: r.printer, desk: r.desk, stopping: r.stop,
		showAll: r.desk.leaves && !r.desk.headless,
	}
	if v, ok := r.printer.(*printer.Text); ok {
		l.live = v.Live
	}
	return l
}

// noteUnfinished names the other sessions of the directory whose work a crash interrupted. If they cannot be read, it
// names none.
func (r *promptRun) noteUnfinished(ctx context.Context) {
	active, err := r.client.Active(ctx)
	if err != nil {
		return
	}
	var ids []session.ID
	for id, a := range active {
		if a.Type == api.TypeUnfinished && a.Directory == r.plan.options.Dir && id != r.plan.id {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	text := describe.DescribePaused(ids[0], "")
	if len(ids) > 1 {
		text += fmt.Sprintf(" (%d more: cairn session list)", len(ids)-1)
	}
	r.printer.ShowNote(text)
}

// offlineGuide is the model that answers if none was chosen.
const offlineGuide = "cairn/guide"

// afterworkTime bounds readAfterwork, in which plugins take part.
const afterworkTime = 5 * time.Second

// readAfterwork reads what the session's next request takes of the model's window, which instructions it lacks, and
// which model could have answered in place of the guide. Of a prompt that was withdrawn there is nothing to say.
func (r *promptRun) readAfterwork(ctx context.Context) {
	if r.progress == nil || r.progress.Withdrawn || r.plan.openCode || r.plan.typed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, afterworkTime)
	defer cancel()
	if next, err := (api.Contexts{Client: r.client}).NextRequest(ctx, r.plan.id, false); err == nil {
		r.after.fill, r.after.missing, r.after.servers = next.Window.Fill, next.Missing, next.Servers
	}
	if r.plan.model != nil || r.progress.Model.String() != offlineGuide {
		return
	}
	list, err := r.client.Models(ctx)
	if err != nil {
		return
	}
	for _, m := range list.Data {
		if m.ProviderID == "cairn" {
			continue
		}
		name := string(m.ProviderID) + "/" + string(m.ID)
		r.after.offer = "the guide answered because no model is chosen; to use one that was found: cairn run -m " + name
		if r.plan.server == nil {
			r.after.offer += "; to make it the default: cairn config set model " + name
		}
		return
	}
}
