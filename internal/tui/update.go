package tui

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/feed"
	"github.com/cairn-dev/cairn/internal/tui/offers"
	"github.com/cairn-dev/cairn/internal/tui/screen"
	"github.com/cairn-dev/cairn/internal/tui/status"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

func newModel(o Options, th style.Theme) *model {
	m := &model{
		options: o, api: o.Client, theme: th, themeName: cmp.Or(o.Theme, style.ListNames()[0]),
		ascii:  terminal.NewMarks(o.Env).Dot == "-",
		screen: screen.New(o.Out, os.Environ(), o.Mouse),
		width:  80, height: 24, now: time.Now(), transcript: transcript.New(th), notify: status.Notifier{Off: o.Quiet},
	}
	var problems []string
	if m.keys, problems = newKeyMap(o.Keys); len(problems) > 0 {
		m.note = "terminal.keys: " + strings.Join(problems, "; ") + "; ? lists the commands and keys"
	}
	m.modes = map[session.ID]chosenMode{}
	m.typedMentions = map[string]bool{}
	m.watch, m.offeredPaths, m.localFiles, m.sidebarOn = unwatched(), map[string]bool{}, localFiles{}, true
	m.vi.On, m.confirmDelay = o.Vi, armDelay
	kept, away := o.Store.Load(), o.Store.LoadStash()
	m.history.Prompts, m.stash = kept.History, away.Texts
	m.editor.Clear()
	m.editor.SetText(kept.Draft)
	m.savedText = kept.Draft
	m.keptFiles = slices.Concat(kept.Files, away.Files)
	if o.Store.IsFull() {
		m.note = "many interfaces run here: text that is typed in this one is lost when it ends; close another one first"
	}
	m.session, m.model, m.agent = o.Session, o.Model, o.Agent
	m.first = firstPrompt{text: o.Prompt, effort: o.Effort, opened: o.Session == nil}
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{readOffers(m), readBranch(m), m.inspectKept(m.keptFiles)}
	if m.session != nil {
		cmds = append(cmds, openSession(m, m.session.ID)) // reads the asks, too
	} else {
		cmds = append(cmds, readAsks(m), offerImport(m))
	}
	return tea.Batch(cmds...)
}

// readOffers reads what the pickers and the completion offer.
func readOffers(m *model) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg { return offers.ReadOffers(ctx, c) })
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer m.closeOnPanic()
	cmd := m.handleMessage(msg)
	return m, tea.Batch(cmd, m.scheduleSave())
}

// handleMessage handles a message of the terminal or of a timer; others are of the session. The command that it returns
// runs in the background.
func (m *model) handleMessage(msg tea.Msg) tea.Cmd {
	// The terminal first, then timers and notes. All other messages come from the server.
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		before := m.hasSidebar()
		m.width, m.height = msg.Width, msg.Height
		m.screen.Resize(msg.Width, msg.Height)
		// The side bar may have become visible and needs the changes.
		if !before {
			return readChanges(m)
		}
	case tea.KeyPressMsg:
		return pressKey(m, msg)
	case tea.PasteMsg:
		return pasteText(m, msg.Content)
	case tea.MouseWheelMsg:
		return scrollWheel(m, msg)
	case tea.MouseClickMsg:
		return pressMouse(m, msg)
	case tea.MouseMotionMsg:
		return moveMouse(m, msg)
	case tea.MouseReleaseMsg:
		return releaseMouse(m)
	case tea.ResumeMsg:
		m.screen.Open()
	case tea.RawMsg:
		m.screen.Send(fmt.Sprint(msg.Msg))
	case tea.FocusMsg:
		m.blurred = false
	case tea.BlurMsg:
		m.blurred = true
	case tickMsg:
		return advanceClock(m, time.Time(msg))
	case saveMsg:
		m.saving = false
		m.saveDraft()
	case armMsg:
		m.asks.armDialog(msg.presses)
	case heldMsg:
		return pressHeldKey(m, msg.presses)
	case noteMsg:
		m.note = strings.TrimPrefix(msg.text, "! ") // of a line for terminals; noteLines has one, too
	case func() tea.Cmd: // what a call has decided
		return msg()
	default:
		return m.handleSession(msg)
	}
	return nil
}

// handleSession handles what the server sent. An answer about another session than the open one came too late and is
// ignored.
func (m *model) handleSession(msg tea.Msg) tea.Cmd {
	// The transcript first, then offers and the state of the open session, then other sessions and completions.
	switch msg := msg.(type) {
	case feed.Updates:
		return applyUpdates(m, msg)
	case openedMsg:
		return showOpened(m, msg)
	case olderMsg:
		return showOlder(m, msg)
	case promptedMsg:
		return showPrompted(m, msg)
	case offers.PromptOffers:
		m.offers = msg
		offerModel(m)
		m.first.offered = true
		return tea.Batch(m.sendFirst(), offerLogin(m))
	case windowMsg:
		if m.session != nil && msg.id == m.session.ID {
			noteServers(m, msg.window.Servers)
			m.window = msg.window
			offerModel(m)
		}
	case branchMsg:
		m.branch = msg.name
	case diffMsg:
		if m.session != nil && msg.id == m.session.ID {
			m.changes = msg.diff
		}
	case inboxMsg:
		if m.session != nil && msg.id == m.session.ID {
			setInbox(m, msg.inbox)
			if n := len(m.inbox); n > 0 && msg.waits && !m.working {
				m.note = describeWaiting(n)
			}
		}
	case feed.CallOutput:
		if m.session != nil && msg.SessionID == m.session.ID {
			m.transcript.ShowProgress(&msg.ToolProgress)
		}
	case feed.Note:
		if m.session != nil && msg.SessionID == m.session.ID {
			m.note = msg.Source + ": " + msg.Text
		}
	case feed.Loss:
		if m.session == nil { // a session has a connection of its own
			m.lost = bool(msg)
		}
	case feed.Event:
		return applyOtherEvent(m, msg.Event)
	case candidatesMsg:
		m.offerMentions(msg.word, msg.items)
	case commandsMsg:
		showCommands(m, msg)
	case resourcesMsg:
		showResources(m, msg)
	}
	return nil
}
