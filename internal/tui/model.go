package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/mention"
	"github.com/cairn-dev/cairn/internal/tui/offers"
	"github.com/cairn-dev/cairn/internal/tui/screen"
	"github.com/cairn-dev/cairn/internal/tui/status"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

// model is the state of the interface. The goroutine of the program owns it.
type model struct {
	options   Options
	api       *api.Client
	theme     style.Theme
	themeName string
	ascii     bool // the terminal has no UTF-8
	keys      keyMap
	screen    *screen.Screen
	ids       session.IDs

	run  func(func(context.Context) tea.Msg) tea.Cmd // a call of the API
	wait func(func(context.Context) tea.Msg) tea.Cmd // one that may wait for people
	// readDisk looks at files of this machine.
	readDisk func(func() tea.Msg) tea.Cmd
	follow   func(id session.ID, after int64, newest session.Message) watched // newest may be nil

	width, height int
	frame         []string // the lines of the last picture
	drag          drag
	now           time.Time
	editor        composer.Editor
	vi            composer.Vi
	history       composer.PromptHistory
	completion    mention.List
	offeredPaths  map[string]bool // paths that the completion has offered
	resources     []api.MCPResource
	attached      []session.File  // to the next prompt, beside those that its text names
	localFiles    localFiles      // that the text may name
	keptFiles     []string        // names in the texts that were kept of the last process
	inspecting    bool            // the file of a typed mention is looked at
	typedNext     string          // the mention that was typed meanwhile
	checking      bool            // the files of the text are looked at, before it is sent
	typedMentions map[string]bool // names that the person typed behind an @
	warnedMention string          // the prompt about which checkMentions has warned
	warnedBlind   string          // the prompt and model about which checkModelInput has warned
	stash         []string        // texts that are put away, oldest first
	savedText     string          // the text that is stored
	nextID        session.ID      // of the session that the first prompt creates; "" before one was sent
	visits        int             // sessions that were asked for or left; an answer to an earlier request is too late
	quietSince    time.Time       // a dialog was opened, or Enter pressed too early for it
	confirmDelay  time.Duration   // for which a dialog that confirms ignores Enter
	escaped       time.Time       // the last press of Escape while nothing worked
	undone        string          // the prompt that the last undo put into the composer
	saving        bool
	transcript    *transcript.Model
	dialogs       []dialog.Dialog // the last one is on top
	note          string          // below the transcript, until the next key
	lastSearch    string
	seek          func() tea.Cmd // goes on with a search when earlier messages were read; nil without one
	search        *sessionSearch // nil until it is first opened

	work
	asks          askQueue
	inbox         []*session.Input
	inboxPicker   *dialog.Picker    // the newest list of them
	timeline      *dialog.Picker    // the newest one
	unsentPrompts []*outgoingPrompt // on their way to the inbox, in the order in which they were typed
	first         firstPrompt
	offers        offers.PromptOffers
	// offeredLogin: the providers were shown to a newcomer.
	offeredLogin bool
	offeredModel bool                      // a model was named to a person whom the guide answers
	agent        string                    // of the next prompts; "" is the session's
	policy       session.AskPolicy         // of all prompts to this session: what is allowed without a question
	modes        map[session.ID]chosenMode // of sessions that were on the screen
	model        *session.ModelRef         // of the next prompts; nil is the session's
	window       api.ContextRequest
	changes      api.SessionDiff // of the session, for the side bar
	branch       string          // that is checked out; "" is unknown
	sidebarOn    bool            // the side bar is wanted
	olderCursor  api.Cursor      // of the messages before the first one
	loadingOlder bool
	blurred      bool // the terminal is not looked at
	leave        Leave
	workerPID    int // the process that goes on with the work
	notify       status.Notifier
}

// work is the session on the screen and its activity.
type work struct {
	session *session.Session // nil until the first prompt
	parent  *session.Session // of which it is a subagent; nil is unknown
	watch   watched
	// workPolicy is that of the newest prompt that was taken up; nil is unknown.
	workPolicy *session.AskPolicy

	working bool
	since   time.Time
	retryAt time.Time // when the next attempt at an answer is made
	lost    bool      // the connection is lost
}

// watched is a session whose updates are sent to the program.
type watched struct {
	expectIdle func()
	stop       context.CancelFunc
}

// unwatched is the watch of no session.
func unwatched() watched { return watched{func() {}, func() {}} }

// openedMsg is the content of a session that was opened.
type openedMsg struct {
	visit    int // number of the request
	session  *session.Session
	parent   *session.Session   // of a subagent; nil if it cannot be read
	policy   *session.AskPolicy // of the newest prompt that was taken up; nil is unknown
	head     int64              // read first: the events behind it are followed
	messages api.Page[session.Message]
	status   api.Status
	asks     []session.PendingAsk
	inbox    []*session.Input
	err      error

	isDirectoryMissing bool           // of the session
	then               func() tea.Cmd // called when it is shown; may be nil
}

type (
	olderMsg struct {
		id     session.ID
		cursor string // of the page
		page   api.Page[session.Message]
		err    error
	}
	windowMsg struct {
		id     session.ID
		window api.ContextRequest
	}
	branchMsg struct{ name string }
	diffMsg   struct {
		id   session.ID
		diff api.SessionDiff
	}
	inboxMsg struct {
		id    session.ID
		inbox []*session.Input
		waits bool // the session is idle, so that they wait for the person
	}
)

// askQueue holds the asks that wait for the person; the first one is on the screen. It takes keys once it is armed:
// keys that were typed before it was seen belong to the prompt.
type askQueue struct {
	pending []session.PendingAsk
	dialog  dialog.KeyUser // of the first one
	armed   bool
	chosen  bool                    // the person turned to it although text is in the composer
	held    *tea.KeyPressMsg        // answers when holdDelay has passed without more text
	later   bool                    // the person put them off
	files   follow.CommandApprovals // commands that were approved with a file of theirs
	presses int                     // keys, which delay what is armed or held
}

// candidatesMsg are the files for a word.
type candidatesMsg struct {
	word  string
	items []dialog.Entry
}

// command is an action that a key or the palette starts.
type command struct {
	name  string
	key   string // by default; "" has none
	about string
	do    func(*model) tea.Cmd
}

// keyMap maps keys to commands.
type keyMap struct {
	commands []command
	byKey    map[string]int
}

// The names of the commands that work also while a request takes all keys.
const (
	answerLater = "answer later"
	helpCommand = "help"
)

// keyOf returns the key of a command, "" if it has none.
func (k *keyMap) keyOf(name string) string {
	i := slices.IndexFunc(k.commands, func(c command) bool { return c.name == name })
	return k.commands[i].key
}

// The messages of the program.
type (
	noteMsg struct{ text string }
	tickMsg time.Time
	saveMsg struct{}
	armMsg  struct{ presses int }
	heldMsg struct{ presses int }
)

// saveDelay bounds how long the typed text may be ahead of its file.
const saveDelay = 300 * time.Millisecond

// scheduleSave has the typed text stored soon, if it has changed.
func (m *model) scheduleSave() tea.Cmd {
	if m.saving || m.draftText() == m.savedText {
		return nil
	}
	m.saving = true
	return tea.Tick(saveDelay, func(time.Time) tea.Msg { return saveMsg{} })
}

// draftText is the typed text, with the prompts that no server has yet.
func (m *model) draftText() string {
	parts := make([]string, 0, len(m.unsentPrompts)+1)
	for _, p := range m.unsentPrompts {
		parts = append(parts, p.Text)
	}
	if text := m.editor.Text(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

func (m *model) saveDraft() {
	m.savedText = m.draftText()
	err := m.options.Store.Save(composer.Drafts{
		Draft: m.savedText, History: m.history.Prompts, Files: m.localFiles.findIn(m.savedText),
	})
	if err != nil {
		m.note = "the typed text cannot be stored: " + err.Error()
	}
}

// leavingResult says how the interface was left.
func (m *model) leavingResult() Result {
	r := Result{Leave: m.leave, Working: m.working, PID: m.workerPID}
	if m.session != nil {
		r.SessionID = m.session.ID
	}
	return r
}

// showError shows an error.
func (m *model) showError(what string, err error) {
	m.note = terminal.FirstLine(what+": "+errorText(err), 400)
}

// errorText returns the text of an error for people.
func errorText(err error) string {
	if e, ok := errors.AsType[*api.TransportError](err); ok && !e.Foreign {
		return "the server does not answer: " + e.Reason()
	}
	return err.Error()
}

// callAPI makes a call of the API; then runs in the program's goroutine with its error shown, unless it failed.
func (m *model) callAPI(what string, f func(context.Context) error, then func() tea.Cmd) tea.Cmd {
	return m.run(func(ctx context.Context) tea.Msg {
		err := f(ctx)
		return func() tea.Cmd {
			if err != nil {
				m.showError(what, err)
				return nil
			}
			if then == nil {
				return nil
			}
			return then()
		}
	})
}

// closeOnPanic gives the terminal back before Bubble Tea writes about a panic.
func (m *model) closeOnPanic() {
	if r := recover(); r != nil {
		m.screen.Close()
		panic(r)
	}
}

func (m *model) openDialog(d dialog.Dialog) {
	m.dialogs = append(m.dialogs, d)
	m.quietSince = time.Now()
}

// isUnseen reports whether Enter was typed before the person can have read the dialog on top, which it would confirm:
// such a dialog opens when a call has returned. It takes Enter after the same pause as an ask.
func (m *model) isUnseen(k tea.KeyPressMsg) bool {
	confirms := false
	switch d := m.dialogs[len(m.dialogs)-1].(type) {
	case *dialog.Choice:
		confirms = d.Type != nil
	case *dialog.Text:
		confirms = d.Enter != nil
	}
	if !confirms || k.String() != "enter" || time.Since(m.quietSince) >= m.confirmDelay {
		return false
	}
	m.quietSince = time.Now()
	return true
}

func (m *model) closeDialog(d dialog.Dialog) {
	m.dialogs = slices.DeleteFunc(m.dialogs, func(o dialog.Dialog) bool { return o == d })
}

// hasSession reports whether a session is open, and says so if none is.
func (m *model) hasSession() bool {
	if m.session == nil {
		m.note = "the first prompt begins a session; until then there is nothing to show"
	}
	return m.session != nil
}

func (m *model) sessionTitle() string {
	if m.session == nil {
		return "new session"
	}
	if m.session.IsUntitled() {
		return "untitled session"
	}
	return describe.SessionTitle(m.session)
}

// agentName is the agent of the next prompt.
func (m *model) agentName() string {
	switch {
	case m.agent != "":
		return m.agent
	case m.session != nil && m.session.Agent != "":
		return m.session.Agent
	case m.window.Agent != "":
		return m.window.Agent
	}
	for _, a := range m.offers.MainAgents() {
		return a.ID
	}
	return "build"
}

// nextModel is the model of the next prompt; the zero value is unknown.
func (m *model) nextModel() session.ModelRef {
	switch {
	case m.model != nil:
		return *m.model
	case m.session != nil && m.session.Model != nil:
		return *m.session.Model
	}
	return m.offers.ChooseModel(m.agentName())
}

// modelName names the model of the next prompt; "" is unknown.
func (m *model) modelName() string {
	if ref := m.nextModel(); ref.ID != "" {
		return ref.String()
	}
	return ""
}

func inboxItems(m *model) (items []dialog.Entry) {
	for _, in := range m.inbox {
		items = append(items, dialog.Entry{
			ID: string(in.ID), Label: describe.InputLine(in, 300), Detail: string(in.Delivery),
		})
	}
	return items
}

// setInbox sets the prompts that wait, also in their list if it is open.
func setInbox(m *model, list []*session.Input) {
	if n := len(m.inbox); n != len(list) && m.note == describeWaiting(n) { // another client may have sent them
		m.note = ""
	}
	m.inbox = list
	if p := m.inboxPicker; p != nil {
		p.Items = inboxItems(m)
	}
}
