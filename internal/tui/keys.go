package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/keymap"
	"github.com/cairn-dev/cairn/internal/tui/mention"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

// listCommands returns all commands, in the order of the palette.
func listCommands() []command {
	return slices.Concat(sessionCommands(), itemCommands(), infoCommands(), programCommands())
}

// sessionCommands are about sessions and models, then prompts, changes and views.
func sessionCommands() []command {
	return []command{
		// Sessions, models and agents.
		{"new session", "ctrl+n", "begin another session with the next prompt", beginSession},
		{"sessions", "ctrl+s", "continue, rename, archive or delete a session", pickSession},
		{"worktree", "", "begin a session in a git worktree of its own", enterWorktree},
		{"models", "ctrl+l", "choose the model of the next prompts", pickModel},
		{"effort", "alt+e", "take the next reasoning effort of the model", switchEffort},
		{"login", "", "log in at a provider of models", pickLogin},
		{"agents", "ctrl+g", "choose the agent of the next prompts", pickAgent},
		{"next agent", "tab", "take the next agent for the next prompts", switchAgent},
		{"mode", "shift+tab", "take the next mode: ask, edits pass, plan", switchMode},
		{answerLater, "alt+a", "put requests off, or show them again", postponeAsks},
		// Prompts, and what was done.
		{"inbox", "ctrl+q", "edit, reorder or withdraw prompts that wait", pickInbox},
		{"undo", "alt+u", "take the newest prompt back, with the files", previewUndo},
		{"redo", "alt+r", "bring back the next prompt that undo took", redoNext},
		{"timeline", "", "choose a prompt to take back, fork from or copy", pickPrompt},
		{"fork", "alt+k", "continue in a copy of the session", forkSession},
		{"tree", "alt+t", "show the session's forks and subagents, and open one", pickRelative},
		{enterSubagent, "f3", "open the session of the selected or newest subagent", openSubagent},
		{leaveSubagent, "f4", "go back to the session of a subagent's call", openParent},
		// Views, and the composer.
		{"changes", "ctrl+x", "show what the session changed in files", showChanges},
		{"compact", "alt+m", "summarise the history that the model sees", previewCompaction},
		{"context", "alt+i", "show what the next request takes of the model's window", showContext},
		{"jobs", "alt+j", "show the background jobs of the session", showJobs},
		{"todos", "ctrl+t", "show the model's list of todos", showTodos},
		{"side bar", "f2", "show or hide changed files and todos, on wide screens", toggleSidebar},
		{"rename", "alt+n", "rename the session", renameSession},
		{editorCommand, "ctrl+o", "edit the prompt in $EDITOR", openEditor},
		{"paste image", "ctrl+v", "attach the image in the clipboard to the prompt", pasteImage},
		{"history", "alt+p", "search the earlier prompts of this place", pickEarlierPrompt},
		{"stash", "alt+w", "put the typed text away, or bring it back", stashPrompt},
		{"find", "ctrl+r", "find text in the transcript", searchTranscript},
		{"search", "alt+g", "search the texts of all sessions", searchSessions},
	}
}

// itemCommands copy and open parts of the transcript.
func itemCommands() []command {
	return []command{
		// Copy.
		{
			"copy message",
			"alt+c",
			"copy the selected or newest message",
			func(m *model) tea.Cmd { return copyPart(m, transcript.ExcerptMessage, "message") },
		},
		{
			"copy code",
			"alt+x",
			"copy the selected or newest block of code",
			func(m *model) tea.Cmd { return copyPart(m, transcript.ExcerptCode, "code") },
		},
		{
			"copy command",
			"alt+v",
			"copy the selected or newest command",
			func(m *model) tea.Cmd { return copyPart(m, transcript.ExcerptCommand, "command") },
		},
		// Select and open.
		{
			"previous item",
			"alt+up",
			"select the item above",
			func(m *model) tea.Cmd { m.transcript.Select(-1); return nil },
		},
		{
			"next item",
			"alt+down",
			"select the item below",
			func(m *model) tea.Cmd { m.transcript.Select(1); return nil },
		},
		{
			"open item",
			"alt+enter",
			"open or close the selected item",
			func(m *model) tea.Cmd { m.transcript.Toggle(); return nil },
		},
		{
			"open all",
			"alt+o",
			"open or close all items",
			func(m *model) tea.Cmd { m.transcript.ToggleAll(); return nil },
		},
	}
}

// infoCommands open the dialogs that correspond to commands of the command line: cairn stats, cairn doctor and so on.
func infoCommands() []command {
	return []command{
		{"status", "", "show the session, the model and the cairn at work", showStatus},
		{"stats", "", "show the usage and costs of all sessions", showStats},
		{"cost", "", "show what the session has cost", showCost},
		{"permissions", "", "list the saved permissions, and revoke one", pickApproval},
		{"trust", "", "show which project files wait for trust", showTrust},
		{"export", "", "write the session as Markdown or JSON", askExport},
		{"share", "", "share the session, or revoke its share", previewShare},
		{"unshare", "", "revoke the share of the session", revokeShare},
		{"mcp", "", "show the MCP servers and what they offer", showMCP},
		{"doctor", "", "check the installation", showDoctor},
		{"theme", "", "choose the colours, with a preview", pickTheme},
	}
}

// programCommands are about the program itself.
func programCommands() []command {
	return []command{
		{"interrupt", "esc", "interrupt the work; twice at rest: the timeline", pressEscape},
		{"palette", "ctrl+p", "show all commands", showPalette},
		{helpCommand, "f1", "show the keys", showHelp},
		{"suspend", "ctrl+z", "suspend cairn", func(*model) tea.Cmd { return tea.Suspend }},
		{"quit", "ctrl+c", "leave", leaveProgram},
	}
}

// newKeyMap returns the map with the user's bindings, and the problems of those without effect.
func newKeyMap(own map[string]string) (keyMap, []string) {
	k := keyMap{commands: listCommands(), byKey: map[string]int{}}
	defaults := make([]keymap.Binding, len(k.commands))
	for i, c := range k.commands {
		defaults[i] = keymap.Binding{Name: c.name, Key: c.key}
	}
	bound, problems := keymap.BindKeys(defaults, own)
	for i, b := range bound {
		k.commands[i].key, k.byKey[b.Key] = b.Key, i
	}
	delete(k.byKey, "")
	return k, problems
}

// pressKey handles a key: of the dialog on top, of a command, or of the composer.
func pressKey(m *model, k tea.KeyPressMsg) tea.Cmd {
	m.note = ""
	// The dialog on top takes all keys.
	if n := len(m.dialogs); n > 0 {
		if m.isUnseen(k) {
			return nil
		}
		top := m.dialogs[n-1]
		cmd, closed := top.PressKey(k)
		if closed {
			m.closeDialog(top)
			if len(m.dialogs) == 0 && m.asks.dialog != nil { // the key must not answer the ask below
				m.asks.disarm()
				return tea.Batch(cmd, m.asks.holdOff())
			}
		}
		return cmd
	}
	// Then an ask takes those that answer it, and completions and vi those that they have; what remains is a command's or
	// the composer's.
	if cmd, taken := routeAskKey(m, k); taken {
		return cmd
	}
	arm := m.asks.holdOff()
	if m.completion.IsOpen() {
		if done, cmd := pressCompletionKey(m, k.String()); done {
			return tea.Batch(arm, cmd)
		}
	}
	if rows, taken := m.vi.PressKey(&m.editor, k); taken {
		m.completion = mention.List{}
		moveRows(m, rows)
		return arm
	}
	if i, ok := m.keys.byKey[k.String()]; ok && !isTypedKey(m, k) {
		return tea.Batch(arm, m.keys.commands[i].do(m))
	}
	return tea.Batch(arm, pressComposerKey(m, k))
}

// isTypedKey reports whether the key is text that the user wants in a prompt.
func isTypedKey(m *model, k tea.KeyPressMsg) bool { return k.Text != "" && k.Mod == 0 }

// pressComposerKey handles a key for the prompt or the transcript, after the commands and dialogs. Keys that no case
// names edit the text.
func pressComposerKey(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	// Send, or begin another line.
	case "enter":
		return submitText(m, false)
	case "ctrl+enter", "alt+s":
		return submitText(m, true)
	case "shift+enter", "ctrl+j":
		m.editor.Insert("\n")
	// Move in the text; at its first or last line, recall another prompt of the history.
	case "up":
		moveRows(m, -1)
	case "down":
		moveRows(m, 1)
	// Scroll the transcript. Upwards, older messages are read once the first known one is on the screen.
	case "pgup":
		m.transcript.ScrollBy(-max(m.height/2, 1))
		return readOlder(m)
	case "pgdown":
		m.transcript.ScrollBy(max(m.height/2, 1))
	case "shift+up":
		m.transcript.ScrollBy(-1)
		return readOlder(m)
	case "shift+down":
		m.transcript.ScrollBy(1)
	case "shift+home", "ctrl+home":
		m.transcript.ScrollTo(true)
		return readOlder(m)
	case "shift+end", "ctrl+end": // the newest line; nothing is selected any more
		m.transcript.ScrollTo(false)
		m.transcript.EndSelection()
	// Edit. Some keys have another meaning in an empty prompt.
	case "ctrl+_", "ctrl+/", "ctrl+-":
		m.editor.UndoEdit()
	case "?":
		if m.editor.IsEmpty() {
			return showHelp(m)
		}
		m.editor.Insert("?")
	case "ctrl+d":
		if m.editor.IsEmpty() {
			return leaveProgram(m)
		}
		m.editor.ApplyEdit(composer.DeleteForward)
	default:
		if composer.EditLine(&m.editor, k) {
			if k.Text == "" { // what is left of pasted text is not typed
				return completeWord(m)
			}
			return tea.Batch(inspectWord(m), completeWord(m))
		}
	}
	return nil
}

// moveRows moves the cursor by rows, 0 does nothing; from the first or last row it recalls an earlier or later prompt.
func moveRows(m *model, rows int) {
	if rows != 0 && !m.editor.MoveRow(rows, m.composerWidth()) {
		recallPrompt(m, -rows)
	}
}

// recallPrompt puts an earlier prompt into the composer.
func recallPrompt(m *model, steps int) {
	if text, ok := m.history.Move(steps, m.editor.Text()); ok {
		m.editor.SetText(text)
	}
}

// scrollWheel scrolls the dialog on top, or the transcript.
func scrollWheel(m *model, msg tea.MouseWheelMsg) tea.Cmd {
	if n := len(m.dialogs); n > 0 {
		if key, ok := wheelKeys[msg.Button]; ok {
			cmd, _ := m.dialogs[n-1].PressKey(tea.KeyPressMsg{Code: key})
			return cmd
		}
		return nil
	}
	switch msg.Button {
	case tea.MouseWheelUp:
		m.transcript.ScrollBy(-3)
		return readOlder(m)
	case tea.MouseWheelDown:
		m.transcript.ScrollBy(3)
	}
	return nil
}

// wheelKeys are the keys that do in a dialog what the wheel does.
var wheelKeys = map[tea.MouseButton]rune{tea.MouseWheelUp: tea.KeyUp, tea.MouseWheelDown: tea.KeyDown}

// interruptWork stops the session's work.
func interruptWork(m *model) tea.Cmd {
	if m.session == nil || !m.working {
		return nil
	}
	m.note = "interrupting"
	c, id := m.api, m.session.ID
	return m.callAPI("interrupt the session", func(ctx context.Context) error { return c.Interrupt(ctx, id) }, nil)
}

func pressAskKey(m *model, k tea.KeyPressMsg) tea.Cmd {
	// Keys that work also while an ask is open.
	if i, ok := m.keys.byKey[k.String()]; ok && !isTypedKey(m, k) {
		switch m.keys.commands[i].name {
		case answerLater:
			return postponeAsks(m)
		case helpCommand: // the ask, and text that is typed in it, are there again afterwards
			return showHelp(m)
		}
	}
	switch k.String() {
	case "ctrl+c":
		return leaveProgram(m)
	case "ctrl+z":
		return tea.Suspend
	}
	if cmd, taken := pressBehindAsk(m, k); taken {
		return cmd
	}
	d := m.asks.dialog
	cmd, closed := d.PressKey(k)
	if !closed {
		return cmd
	}
	if len(m.asks.pending) > 0 {
		m.asks.pending = m.asks.pending[1:]
	}
	return tea.Batch(cmd, showAsk(m))
}

// askKeys are the keys that have a meaning in an ask, also if a command has them.
var askKeys = []string{
	"esc", "enter", "tab", "shift+tab", "up", "down", "left", "space", "pgup", "pgdown",
	"ctrl+d", "ctrl+u", "ctrl+f", "ctrl+x",
}

// pressBehindAsk handles the key of a command while an ask is open: that of a subagent opens the session that asks,
// others do nothing and say so. It reports false for keys of the ask, and for all keys while text is typed in it.
func pressBehindAsk(m *model, k tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	i, ok := m.keys.byKey[k.String()]
	isTyping := m.asks.dialog.UseOf(tea.KeyPressMsg{Code: 'x', Text: "x"}) == dialog.ForDialog
	if !ok || isTyping || slices.Contains(askKeys, k.String()) {
		return nil, false
	}
	name := m.keys.commands[i].name
	if id := m.asks.pending[0].SessionID; name == enterSubagent && (m.session == nil || id != m.session.ID) {
		return openSession(m, id), true
	}
	m.note = name + " waits for your answer"
	if key := m.keys.keyOf(answerLater); key != "" {
		m.note += "; " + key + " puts the request off"
	}
	return nil, true
}
