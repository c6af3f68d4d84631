package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/screen"
	"github.com/cairn-dev/cairn/internal/tui/status"
)

// The smallest screen that the interface fits.
const (
	minWidth  = 20
	minHeight = 6
)

// View implements tea.Model. It draws the screen itself, and leaves nothing to Bubble Tea's renderer.
func (m *model) View() tea.View {
	defer m.closeOnPanic()
	content, cursor := m.renderFrame()
	title := m.windowTitle()
	if m.ascii {
		content, title = style.ReplaceSigns(content), style.ReplaceSigns(title)
	}
	m.frame = strings.Split(content, "\n")
	f := screen.Picture{Lines: m.markSelected(slices.Clone(m.frame)), Cursor: cursor != nil}
	if cursor != nil {
		f.X, f.Y = cursor.X, cursor.Y
	}
	if !m.options.Quiet {
		f.Title = title
	}
	m.screen.DrawPicture(f)
	return tea.View{}
}

func (m *model) windowTitle() string {
	mark := ""
	switch {
	case m.asks.dialog != nil:
		mark = "? "
	case m.working:
		mark = "* "
	}
	return mark + "cairn: " + terminal.FirstLine(m.sessionTitle(), 60)
}

// renderFrame returns the screen, height lines of at most width cells, and the cursor in it.
func (m *model) renderFrame() (string, *tea.Cursor) {
	if m.width < minWidth || m.height < minHeight {
		return dialog.Clip(fmt.Sprintf("%dx%d needed: the terminal is too small", minWidth, minHeight), m.width), nil
	}
	if n := len(m.dialogs); n > 0 {
		return m.dialogFrame(m.dialogs[n-1]), nil
	}
	rows := m.editor.WrapRows(m.composerWidth())
	bottom, cursor := m.composerLines(rows)
	above := m.aboveLines(m.height - len(bottom) - 3)
	height := max(m.height-len(bottom)-len(above)-2, 0)
	head := m.subagentLines()
	m.transcript.SetSize(m.transcriptWidth(), height-len(head))
	lines := m.joinSidebar(append(head, strings.Split(m.transcriptView(), "\n")...), height)
	lines = append(lines, above...)
	lines = append(lines, m.theme.Border.Render(strings.Repeat("─", m.width)))
	cursor.Y += len(lines)
	lines = append(lines, bottom...)
	lines = append(lines, m.statusLine())
	return strings.Join(lines, "\n"), cursor
}

func (m *model) transcriptView() string {
	if m.session != nil || len(m.unsentPrompts) > 0 {
		return m.transcript.View()
	}
	lines := []string{
		m.theme.Heading.Render("cairn"), "",
		m.theme.Muted.Render(dialog.Clip("in "+terminal.FirstLine(m.options.Where, 300), m.width)), "",
		"Type what you want to have done, and press Enter.",
		"/ commands   @ files and agents   ! shell   ? help   /sessions",
	}
	if m.offers.HasOnlyGuide() {
		lines = append(lines, "", "The built-in guide answers, which is not a language model. /login connects one.")
	}
	for i := range lines {
		lines[i] = dialog.Clip(lines[i], m.width)
	}
	height := max(m.transcriptHeight(), 0)
	lines = lines[:min(len(lines), height)]
	return strings.Join(lines, "\n") + strings.Repeat("\n", height-len(lines))
}

// transcriptHeight returns the number of lines that the composer, the status line and the lines above them leave.
func (m *model) transcriptHeight() int {
	rows := m.editor.WrapRows(m.composerWidth())
	bottom, _ := m.composerLines(rows)
	return m.height - len(bottom) - len(m.aboveLines(m.height-len(bottom)-3)) - 2
}

// aboveLines are the lines between the transcript and the composer: the ask, prompts that wait, completions, the note.
func (m *model) aboveLines(room int) []string {
	// Prompts that wait, and those being sent, take at most five lines.
	var lines []string
	when := map[session.Delivery]string{session.Steer: "next: ", session.Queue: "queued: "}
	for _, in := range m.inbox {
		text := when[in.Delivery] + describe.InputLine(in, 300)
		lines = append(lines, m.theme.Muted.Render(dialog.Clip(text, m.width)))
	}
	for _, p := range m.unsentPrompts {
		lines = append(lines, m.theme.Muted.Render(dialog.Clip("sending: "+terminal.FirstLine(p.Text, 300), m.width)))
	}
	if len(lines) > 5 {
		more := len(lines) - 4
		lines = append(lines[:4], m.theme.Muted.Render(fmt.Sprintf("and %d more", more)))
	}
	for _, text := range []string{m.describeAttached(), m.describeStash(), m.describeTodos()} {
		if text != "" {
			lines = append(lines, m.theme.Muted.Render(dialog.Clip(text, m.width)))
		}
	}
	last := slices.Concat(m.completion.RenderLines(m.theme, m.width), m.noteLines())
	if d := m.asks.dialog; d != nil {
		// With little room a dialog displaces the other lines.
		if room < 10 {
			lines, last = nil, last[:min(len(last), 1)]
		}
		lines = append(lines, d.RenderLines(m.theme, m.width, max(room-len(lines)-len(last)-1, 2))...)
		if room < 4 { // no room for more
			return lines
		}
		lines = append(lines, m.theme.Muted.Render(dialog.Clip(m.describeAskKeys(), m.width)))
	}
	lines = append(lines, last...)
	// If the lines do not fit, drop the first ones.
	return lines[max(len(lines)-max(room, 0), 0):]
}

// describeAskKeys says when keys answer the ask on the screen.
func (m *model) describeAskKeys() string {
	later := ""
	if key := m.keys.keyOf(answerLater); key != "" {
		later = key + ": later"
	}
	if _, ok := m.asks.dialog.(*dialog.Ask); ok {
		later = strings.TrimSpace("ctrl+f: full screen  " + later)
	}
	switch {
	case !m.asks.armed:
		return "keys answer this after a short pause"
	case !m.takesAskKeys():
		return strings.TrimSpace("tab: answer, with the text kept  " + later)
	}
	return later
}

// maxNoteLines bounds the lines of a note.
const maxNoteLines = 4

// noteLines are the lines of the note, if there is one.
func (m *model) noteLines() []string {
	if m.note == "" {
		return nil
	}
	lines := dialog.Wrap("! "+terminal.FirstLine(m.note, 500), m.width)
	lines = lines[:min(len(lines), maxNoteLines)]
	for i := range lines {
		lines[i] = m.theme.Warning.Render(lines[i])
	}
	return lines
}

// maxComposerRows bounds the composer.
const maxComposerRows = 10

func (m *model) composerWidth() int { return max(m.width-2, 2) }

// composerLines are the rows of the typed text around the cursor.
func (m *model) composerLines(rows composer.Rows) ([]string, *tea.Cursor) {
	part := 2
	if m.asks.dialog != nil {
		part = 6 // of the screen, so that the ask is seen
	}
	text, before := rows.CutWindow(min(maxComposerRows, m.height/part))
	lines := make([]string, len(text))
	for i := range text {
		mark := "  "
		if before+i == 0 {
			mark = m.theme.Accent.Render("> ")
		}
		lines[i] = mark + text[i]
	}
	return lines, tea.NewCursor(rows.Col+2, rows.Row-before)
}

// statusLine is the last line of the screen.
func (m *model) statusLine() string { return m.statusOf().Render(m.theme, m.width) }

// statusOf is the content of the last line.
func (m *model) statusOf() status.SessionLine {
	l := status.SessionLine{
		Working: m.working, Waiting: len(m.asks.pending) > 0, Lost: m.lost, Took: time.Since(m.since), Agent: m.agentName(),
		RetryIn: m.retryAt.Sub(m.now), Queue: len(m.inbox), Where: m.options.Where, Model: m.modelName(),
		Effort: m.nextModel().Variant, Mode: m.describeMode(), Vi: m.vi.Mode(),
	}
	if m.window.Model.Equal(m.nextModel()) { // else it is that of another model's window
		l.Fill = m.window.Window.Fill
	}
	if m.now.After(m.since) {
		l.Took = m.now.Sub(m.since)
	}
	l.Branch = m.branch
	if s := m.session; s != nil {
		l.Tokens, l.Cost, l.Where, l.Parent = s.Tokens, s.Cost, m.sessionTitle(), m.parentTitle()
		if own := m.options.Client.Directory; own != "" && s.Location.Directory != "" && s.Location.Directory != own {
			l.Elsewhere = describe.FormatDirectory(s.Location.Directory, own)
		}
	}
	return l
}

// besideHeight is the height of a dialog that leaves the session visible.
const besideHeight = 8

// dialogFrame shows a dialog on the whole screen.
func (m *model) dialogFrame(d dialog.Dialog) string {
	below := append(m.noteLines(), m.statusLine())
	room := m.height - len(below)
	var lines []string
	if p, ok := d.(*dialog.Picker); ok && p.Beside && room > besideHeight {
		m.transcript.SetSize(m.width, room-besideHeight)
		lines = strings.Split(m.transcript.View(), "\n")
	}
	lines = append(lines, d.RenderLines(m.theme, m.width, room-len(lines))...)
	lines = lines[:min(len(lines), room)]
	for len(lines) < room {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, below...), "\n")
}
