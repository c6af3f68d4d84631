package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// doubleEscape is the longest time between two presses of Escape that open the timeline.
const doubleEscape = 700 * time.Millisecond

// pressEscape ends the selection and interrupts the work; while nothing works, the second press opens the timeline.
func pressEscape(m *model) tea.Cmd {
	m.transcript.EndSelection()
	m.seek = nil
	if m.session == nil {
		return nil
	}
	if m.working {
		return interruptWork(m)
	}
	last := m.escaped
	m.escaped = time.Now()
	if m.escaped.Sub(last) > doubleEscape {
		return nil
	}
	m.escaped = time.Time{}
	if m.editor.IsEmpty() {
		return pickPrompt(m)
	}
	m.note = "the timeline opens on an empty composer"
	if key := m.keys.keyOf("stash"); key != "" {
		m.note = "the timeline opens on an empty composer; " + key + " puts the text away"
	}
	return nil
}

// timelineMessages bounds the messages that are read for the timeline.
const timelineMessages = 2000

// pickPrompt shows the timeline: the prompts of the session, each a point to go back to, with what its answers changed
// in files. What a staged undo took back is not shown.
func pickPrompt(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	id := m.session.ID
	return readPrompts(m, func(prompts []*session.User) {
		m.timeline = timelinePicker(m, id, prompts)
		m.openDialog(m.timeline)
	})
}

// renewTimeline reads the prompts of an open timeline again, because an undo has taken or brought back some.
func renewTimeline(m *model) tea.Cmd {
	p := m.timeline
	if p == nil || !slices.Contains(m.dialogs, dialog.Dialog(p)) {
		return nil
	}
	id := m.session.ID
	return readPrompts(m, func(prompts []*session.User) {
		now := timelinePicker(m, id, prompts)
		p.Items, p.Preview, p.Pick, p.Actions = now.Items, now.Preview, now.Pick, now.Actions
	})
}

// readPrompts reads the prompts of the session and shows them.
func readPrompts(m *model, show func([]*session.User)) tea.Cmd {
	c, id, revert := m.api, m.session.ID, m.session.Revert
	var newest []session.Message
	return m.callAPI("read the prompts", func(ctx context.Context) error {
		for x, err := range c.NewestMessages(ctx, id) {
			if err != nil {
				return err
			}
			if newest = append(newest, x); len(newest) == timelineMessages {
				break
			}
		}
		return nil
	}, func() tea.Cmd {
		show(listPrompts(newest, revert))
		return nil
	})
}

// listPrompts returns the prompts among messages, newest first, without those that the revert, if any, takes back.
func listPrompts(newest []session.Message, taken *session.Revert) (prompts []*session.User) {
	if taken != nil && !taken.FilesOnly {
		n, _ := taken.CountTaken(newest)
		newest = newest[n:]
	}
	for _, x := range newest {
		if u, ok := x.(*session.User); ok {
			prompts = append(prompts, u)
		}
	}
	return prompts
}

func timelinePicker(m *model, id session.ID, prompts []*session.User) *dialog.Picker {
	byID := map[string]*session.User{}
	p := &dialog.Picker{
		Title: "Timeline", Enter: "take it back, and all that follows", Hint: "ctrl+k: fork before it  ctrl+y: copy it",
	}
	for _, u := range prompts {
		byID[string(u.ID)] = u
		detail := strings.TrimSpace(describeChanges(u.Diffs) + "  " + terminal.FormatAge(u.Time.Created))
		p.Items = append(p.Items, dialog.Entry{ID: string(u.ID), Label: describe.PromptLine(u, 300), Detail: detail})
	}
	p.Preview = func(it dialog.Entry) []string {
		lines := []string{""}
		for _, f := range byID[it.ID].Diffs {
			lines = append(lines, fmt.Sprintf("  %-8s %s  +%d -%d", f.Status, f.Path, f.Additions, f.Deletions))
		}
		return lines
	}
	p.Pick = func(it dialog.Entry) tea.Cmd { return previewUndoOf(m, session.MessageID(it.ID)) }
	p.Actions = map[string]dialog.Action{
		"ctrl+k": {Do: func(it dialog.Entry) tea.Cmd {
			return forkBefore(m, id, session.MessageID(it.ID), "a copy of what came before "+it.Label)
		}, Closes: true},
		"ctrl+y": {Do: func(it dialog.Entry) tea.Cmd {
			m.note = "copied the prompt"
			return tea.Raw(ansi.SetSystemClipboard(byID[it.ID].Text))
		}, Closes: true},
	}
	return p
}

// describeChanges sums up changes of files, "" without one.
func describeChanges(files []session.ChangedFile) string {
	if len(files) == 0 {
		return ""
	}
	added, removed := 0, 0
	for _, f := range files {
		added, removed = added+f.Additions, removed+f.Deletions
	}
	return fmt.Sprintf("+%d -%d in %s", added, removed, terminal.FormatPlural(len(files), "file"))
}
