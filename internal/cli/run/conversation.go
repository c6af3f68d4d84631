package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// conversation runs typed lines one after another: prompts, and commands that begin with a slash. On a terminal it
// shows the session first, asks the person, and Ctrl-C stops the work instead of the command. One goroutine owns it.
type conversation struct {
	inv         *cli.Invocation
	client      *api.Client
	server      *serverFlags        // nil: the cairn of this machine
	sandbox     session.SandboxMode // of sessions that begin here
	interactive bool
	printer     *printer.Text
	desk        *askDesk
	ids         session.IDs
	interrupts  chan struct{} // the first Ctrl-C after a typed line
	presses     atomic.Int32  // of Ctrl-C since the last line

	session *session.Session  // nil until the first prompt
	agent   string            // of the next prompts; "" is the session's
	model   *session.ModelRef // of the next prompts; nil is the session's
	listed  []string          // names of the last list, chosen by number
	working bool              // the session worked when it was last looked at
	worst   cli.ExitCode      // of the prompts
	done    bool
}

// callTimeout bounds a call of the API.
const callTimeout = 30 * time.Second

// converse holds the conversation until it is left, the input ends or the session cannot be read. It continues s, if
// any, and shows that many of its messages first.
func (t *conversation) converse(ctx context.Context, s *session.Session, replay int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t.interactive {
		defer t.captureInterrupts(cancel)()
	}
	// Show the session first, then run one line after another.
	if err := t.openSession(ctx, s, replay); err != nil {
		return err
	}
	in := bufio.NewScanner(t.inv.Stdin)
	in.Buffer(nil, cli.MaxPrompt)
	for !t.done && ctx.Err() == nil {
		text, ok, err := t.readLine(ctx, in)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := t.runLine(ctx, strings.TrimSpace(text)); err != nil {
			return err
		}
	}
	// A second Ctrl-C ends the context; otherwise the input ended, or /quit was typed.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if t.worst != cli.ExitOK && !t.interactive {
		return &cli.ExitError{Code: t.worst}
	}
	return nil
}

// captureInterrupts has the first Ctrl-C after a line stop the work, and the second one end the conversation, until the
// returned function is called.
func (t *conversation) captureInterrupts(leave context.CancelCauseFunc) (release func()) {
	press := func() {
		if t.presses.Add(1) > 1 {
			leave(cli.ErrSignal)
			return
		}
		select {
		case t.interrupts <- struct{}{}:
		default:
		}
	}
	t.inv.OnInterrupt.Store(&press)
	return func() { t.inv.OnInterrupt.Store(nil) }
}

// readLine returns the next line; ok is false at the end of the input. On a terminal it asks for the line.
func (t *conversation) readLine(ctx context.Context, in *bufio.Scanner) (text string, ok bool, err error) {
	if !t.interactive {
		ctx, stop := t.inv.UntilSignal(ctx)
		defer stop()
		text, err = terminal.ReadTyped(ctx, func() (string, error) {
			ok = in.Scan()
			return in.Text(), in.Err()
		})
		return text, err == nil && ok, err
	}
	// What was asked when the work was left is not on the screen any more.
	t.desk.terminal.Clear()
	t.showPrompt()
	t.desk.terminal.requestLine()
	for {
		select {
		case text, ok = <-t.desk.terminal.Lines:
			t.desk.terminal.reading = false
			t.inv.Err.Midline, t.inv.Out.Midline = false, false // Enter began a new line
			t.presses.Store(0)
			return text, ok, nil
		case <-t.interrupts:
			t.printer.ShowNote("press Ctrl-C again to leave, or type /quit")
			t.showPrompt()
		case <-ctx.Done():
			return "", false, context.Cause(ctx)
		}
	}
}

// showPrompt shows that a line is wanted.
func (t *conversation) showPrompt() {
	t.inv.Out.EndLine()
	t.inv.Err.EndLine()
	t.inv.Err.Printf("> ")
}

// typingTerminal is the terminal that standard input and standard error are.
type typingTerminal struct {
	io.Reader
	io.Writer
	fd uintptr
}

func (t typingTerminal) Fd() uintptr { return t.fd }

// Close leaves the streams open: they belong to the process.
func (typingTerminal) Close() error { return nil }

// openTerminal has asks, and prompts, typed at standard input.
func (t *conversation) openTerminal() {
	tty := typingTerminal{t.inv.Stdin, t.inv.Err, 0}
	if f, ok := t.inv.Stdin.(*os.File); ok {
		tty.fd = f.Fd()
	}
	q := NewTerminalAsks(tty, t.inv.Marks, t.inv.Err.Color)
	q.Out = t.inv.Err // which knows whether a line is unfinished
	t.desk.askAt(q, t.printer)
}

// showText shows a line of the conversation's own.
func (t *conversation) showText(text string) {
	t.printer.ShowLine("", " ", terminal.FirstLine(text, 300))
}

// callAPI makes a call of the API and shows its error. It reports whether there was none.
func (t *conversation) callAPI(ctx context.Context, f func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := f(ctx)
	if err != nil {
		t.printer.ShowNote(err.Error())
	}
	return err == nil
}

// runLine runs one line: a command of the conversation, or a prompt.
func (t *conversation) runLine(ctx context.Context, text string) error {
	name, arguments, isSlash := parseSlash(text)
	command, isOwn := t.commands()[name]
	switch {
	case text == "":
		return nil
	case isSlash && isOwn && !t.interactive && !command.headless:
		t.inv.Note(fmt.Sprintf("/%s works on a terminal only", name))
		return nil
	case isSlash && isOwn:
		return command.run(ctx, arguments)
	}
	return t.runPrompt(ctx, text)
}

// parseSlash splits a line such as "/review main.go" into the command's name and its arguments. A path is no command.
func parseSlash(text string) (name, arguments string, ok bool) {
	word, arguments, _ := strings.Cut(text, " ")
	name, ok = strings.CutPrefix(word, "/")
	if !ok || strings.Contains(name, "/") {
		return "", "", false
	}
	return name, strings.TrimSpace(arguments), true
}

// runPrompt runs a line as a prompt, or as a command of the directory if it begins with a slash. It returns an error
// after which the next line makes no sense.
func (t *conversation) runPrompt(ctx context.Context, text string) error {
	r := t.newRun(ctx, text)
	err := r.run(ctx)
	// Another client may have deleted the session: the line begins another one.
	if r.deleted && t.interactive && t.session != nil {
		t.printer.ShowNote("this session was deleted; the next prompt begins another one")
		if t.session = nil; r.progress == nil {
			return t.runPrompt(ctx, text)
		}
		return nil
	}
	// Show how it came out, unless the person has left.
	t.working = r.left || err != nil && ctx.Err() != nil
	t.done = r.left
	out := r.result(err)
	if !r.left && ctx.Err() == nil {
		t.printer.ShowResult(out)
	}
	if out.ExitCode != cli.ExitOK {
		t.worst = out.ExitCode
	}
	if r.progress != nil || r.plan.existing {
		t.session = &session.Session{ID: r.plan.id}
	}
	// Without a person, the lines after a failure are not run.
	switch {
	case t.inv.Out.Err != nil:
		return t.inv.Out.Err
	case t.interactive || out.ExitCode == cli.ExitUsage: // the prompt was refused and the session is as it was
		return nil
	case r.progress == nil || out.ExitCode == cli.ExitInterrupted:
		t.done = true
	}
	return nil
}

// newRun returns the run of a line. While the session works for another client, the prompt waits.
func (t *conversation) newRun(ctx context.Context, text string) *promptRun {
	r := &promptRun{
		inv: t.inv, started: time.Now(), printer: t.printer, desk: t.desk, client: t.client, stop: t.interrupts,
	}
	if !t.interactive {
		r.stop = t.inv.Stopping
	}
	r.plan = plan{
		options: client.Options{Dir: t.client.Directory}, message: session.MessageID(t.ids.New(session.PrefixMessage)),
		delivery: session.Queue, asks: t.desk.policy, prompt: session.Prompt{Text: text}, typed: true,
		agent: t.agent, model: t.model, sandbox: t.sandbox, server: t.server,
	}
	if t.session != nil {
		r.plan.id, r.plan.existing = t.session.ID, true
		if t.interactive {
			s, err := t.client.Status(ctx, t.session.ID)
			if err == nil && s.Type == api.StatusIdle { // also of a session that was cut off: its work is not resumed first
				r.plan.delivery = session.Steer
			}
		}
	} else {
		r.plan.id = session.ID(t.ids.New(session.PrefixSession))
	}
	if name, arguments, ok := parseSlash(text); ok {
		r.plan.command, r.plan.prompt.Text = name, arguments
	}
	return r
}

// openSession continues the session: it shows its title and, on a terminal, its newest messages and its work, until it
// is idle. A nil session has the next prompt begin one.
func (t *conversation) openSession(ctx context.Context, s *session.Session, replay int) error {
	if t.session = s; s == nil {
		return nil
	}
	if !t.interactive {
		t.inv.Err.Printf("%s  %s\n", describe.SessionTitle(s), s.ID)
		return nil
	}
	o, err := loadSession(ctx, t.client, s.ID, replay)
	if err != nil {
		return err
	}
	t.showText(describe.SessionTitle(s) + "  " + string(s.ID))
	if s.Open {
		t.printer.ShowNote(describe.OpenNote + "; /new begins one that asks")
	}
	if shared := describe.DescribeSharedFiles(s.Entries); shared != "" {
		t.printer.ShowNote(shared)
	}
	for _, m := range o.messages {
		t.printer.ReplayMessage(m)
	}
	if o.status.Type == api.StatusIdle && len(o.Asks) == 0 {
		return nil
	}
	for _, a := range o.Asks {
		t.desk.handle(&session.PermissionAsked{Ask: a})
	}
	return t.showWork(ctx, follow.Options{After: o.Head, Newest: o.Newest, Jobs: s.Jobs})
}

// showWork shows the session's work until it is idle, or the person goes back to the prompt with Ctrl-C.
func (t *conversation) showWork(ctx context.Context, o follow.Options) error {
	l := (&promptRun{inv: t.inv, printer: t.printer, desk: t.desk, client: t.client, stop: t.interrupts}).newLoop()
	l.id = t.session.ID
	err := l.run(ctx, o)
	t.working, t.done = l.left || ctx.Err() != nil, l.left
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.printer.ShowNote("this session was deleted; the next prompt begins another one")
		t.session = nil
		return nil
	}
	return err
}

// openedSession is the content of a session that was opened.
type openedSession struct {
	follow.State
	messages []session.Message
	status   api.Status
}

func loadSession(ctx context.Context, c *api.Client, id session.ID, replay int) (o openedSession, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if o.State, err = follow.ReadState(ctx, c, id); err != nil {
		return o, err
	}
	if o.messages, err = newestMessages(ctx, c, id, replay); err != nil {
		return o, err
	}
	o.status, err = c.Status(ctx, id)
	return o, err
}

// maxReplay is the most messages that are shown of a session when it is opened.
const maxReplay = 200

// newestMessages returns the newest n messages of a session, oldest first; with a negative n those from the last prompt
// on.
func newestMessages(ctx context.Context, c *api.Client, id session.ID, n int) ([]session.Message, error) {
	if n == 0 {
		return nil, nil
	}
	limit := min(n, maxReplay)
	if n < 0 {
		limit = 50
	}
	page, err := c.Messages(ctx, id, api.MessageQuery{Limit: limit})
	if err != nil {
		return nil, err
	}
	messages := page.Data // newest first
	if n < 0 {
		isPrompt := func(m session.Message) bool { _, ok := m.(*session.User); return ok }
		messages = messages[:slices.IndexFunc(messages, isPrompt)+1]
	}
	slices.Reverse(messages)
	return messages, nil
}

// describeRunningWork describes what happens to the session's work after the conversation ends. The caller appends the
// command that continues it. If this process owns the store, the work ends with the process.
func (t *conversation) describeRunningWork(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if h, err := t.client.Health(ctx); err == nil && h.PID == os.Getpid() {
		return fmt.Sprintf("session %s is still working in this process, which stops it after 30s: "+
			"only cairn serve keeps sessions working. To continue it, run: ", t.session.ID)
	}
	return fmt.Sprintf("session %s is still working; to show it again, run: ", t.session.ID)
}
