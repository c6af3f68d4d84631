package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/redo"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// previewUndo shows what taking a prompt back would do, the selected one or the newest, and asks.
func previewUndo(m *model) tea.Cmd { return previewUndoOf(m, m.transcript.SelectedMessage()) }

// previewUndoOf is previewUndo of the prompt that the message belongs to, with "" of the newest one.
func previewUndoOf(m *model, message session.MessageID) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var r *session.Revert
	return m.callAPI("undo", func(ctx context.Context) (err error) {
		request := api.RevertRequest{Before: true, MessageID: message, Preview: true}
		r, err = api.Reverts{Client: c}.StageRevert(ctx, id, request)
		return err
	}, func() tea.Cmd {
		prompt := m.transcript.FindPrompt(r.MessageID, r.Exclusive)
		title := "Take the newest prompt back?"
		if message != "" {
			title = "Take this prompt back, and all that follows?"
		}
		text := dialog.DescribeRevert(r)
		if prompt != nil {
			text = append([]string{describe.PromptLine(prompt, 300)}, text...)
		}
		m.openDialog(&dialog.Choice{
			Title: title, Text: text, Type: m.typeText,
			Options: []dialog.Reply{
				{Key: "y", Label: "take it back", Do: func() tea.Cmd { return undo(m, id, r, prompt) }},
				{Key: "n", Label: "keep it"},
			},
		})
		return nil
	})
}

// undo stages the revert that was previewed, and puts the prompt, if it is known, back into the composer.
func undo(m *model, id session.ID, r *session.Revert, prompt *session.User) tea.Cmd {
	c := m.api
	return m.callAPI("undo", func(ctx context.Context) error {
		request := api.RevertRequest{MessageID: r.MessageID, PartID: r.PartID, Before: r.Exclusive}
		_, err := api.Reverts{Client: c}.StageRevert(ctx, id, request)
		return err
	}, func() tea.Cmd {
		m.note = "undone; /redo brings it back"
		if prompt != nil && m.clearUndone() && !describe.IsTaskReport(prompt) {
			m.returnPrompt(session.Prompt{Text: prompt.Text, Files: prompt.Files})
			m.undone = m.editor.Text()
		}
		return openSession(m, id)
	})
}

// clearUndone empties the composer of the prompt that the last undo has put there, and reports whether it is empty.
func (m *model) clearUndone() bool {
	if m.undone != "" && m.editor.Text() == m.undone {
		m.editor.Clear()
		m.attached = nil
	}
	m.undone = ""
	return m.editor.IsEmpty()
}

// redoNext brings back the next prompt that undo took back.
func redoNext(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, s := m.api, *m.session // events change the model's
	if s.Revert == nil {
		m.note = "there is no undo to take back"
		return nil
	}
	var step redo.Step
	return m.callAPI("redo", func(ctx context.Context) (err error) {
		step, err = redo.StageNext(ctx, c, &s)
		return err
	}, func() tea.Cmd {
		m.clearUndone()
		m.note = "redone"
		if step.Revert != nil {
			m.note += "; more was taken back"
		}
		if n := len(step.Kept); n > 0 {
			m.note += "; " + terminal.FormatPlural(n, "file") + " stay as they are, beginning with " + string(step.Kept[0].Path)
		}
		return openSession(m, s.ID)
	})
}

// forkSession continues in a copy of the session: before the selected message, or of all of it.
func forkSession(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	note := ""
	if words := m.transcript.DescribeSelection(); words != "" {
		note = "a copy of what came before " + words
	}
	return forkBefore(m, m.session.ID, m.transcript.SelectedMessage(), note)
}

// forkBefore continues in a copy of the session's messages before the one named, with "" of all, and shows the note.
func forkBefore(m *model, id session.ID, before session.MessageID, note string) tea.Cmd {
	c := m.api
	var s *session.Session
	return m.callAPI("fork", func(ctx context.Context) (err error) {
		s, err = api.Forks{Client: c}.ForkSession(ctx, id, api.ForkRequest{Before: before})
		return err
	}, func() tea.Cmd { m.note = note; return openSession(m, s.ID) })
}

// showChanges shows what the session changed in files.
func showChanges(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var diff api.SessionDiff
	return m.callAPI("read the changes", func(ctx context.Context) (err error) {
		diff, err = api.Reverts{Client: c}.ReadDiff(ctx, id, api.DiffSelection{Context: 3})
		return err
	}, func() tea.Cmd {
		d := &dialog.Text{Title: terminal.FormatPlural(len(diff.Data), "changed file")}
		for _, f := range diff.Data {
			d.Changes = append(d.Changes, dialog.FilePatch{Path: string(f.Path), Patch: f.Patch})
		}
		if len(diff.Data) == 0 {
			d.Body = []string{"The session changed no files."}
		}
		for _, text := range diff.Unknown {
			d.Body = append(d.Body, "There may be further changes: "+text)
		}
		m.openDialog(d)
		return nil
	})
}

// previewCompaction shows what a compaction would do, and asks.
func previewCompaction(m *model) tea.Cmd { return previewCompactionWith(m, "", "") }

// previewCompactionWith is previewCompaction with instructions for the summary, and the text of the composer that has
// them.
func previewCompactionWith(m *model, instructions, typed string) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var p api.CompactionPreview
	return m.callAPI("compact", func(ctx context.Context) (err error) {
		request := session.CompactionRequest{Instructions: instructions}
		p, err = api.Contexts{Client: c}.PreviewCompaction(ctx, id, request, false)
		return err
	}, func() tea.Cmd {
		request := api.CompactRequest{ID: session.MessageID(m.ids.New(session.PrefixMessage)), Instructions: instructions}
		compact := func() tea.Cmd {
			return m.callAPI("compact", func(ctx context.Context) error {
				_, err := c.Compact(ctx, id, request)
				return err
			}, func() tea.Cmd { m.clearIfTyped(typed); return nil })
		}
		m.openDialog(&dialog.Choice{
			Title: "Summarise the history that the model sees?",
			Text: []string{
				fmt.Sprintf("%d messages (%s tokens) become a summary, written by %s.", p.Summarised.Messages,
					terminal.FormatCount(p.Summarised.Tokens), p.Writer),
				fmt.Sprintf("%d messages (%s tokens) stay.", p.Kept.Messages, terminal.FormatCount(p.Kept.Tokens)),
			},
			Options: []dialog.Reply{{Key: "y", Label: "yes", Do: compact}, {Key: "n", Label: "no"}}, Type: m.typeText,
		})
		return nil
	})
}

// showContext shows what the next request takes of the model's window.
func showContext(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var w api.ContextRequest
	return m.callAPI("read the context", func(ctx context.Context) (err error) {
		w, err = api.Contexts{Client: c}.NextRequest(ctx, id, false)
		return err
	}, func() tea.Cmd {
		body := append(describe.DescribeNextRequest(w), "")
		for _, s := range w.Sources {
			body = append(body, fmt.Sprintf("%10s  %-8s %s", terminal.FormatCount(s.Tokens), s.Kind, s.Name))
		}
		m.openDialog(&dialog.Text{Title: "Next request to " + w.Model.String(), Body: body})
		return nil
	})
}

// showJobs shows the background jobs of the session.
func showJobs(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var jobs []session.Job
	return m.callAPI("list the jobs", func(ctx context.Context) (err error) {
		jobs, err = c.Jobs().List(ctx, id)
		return err
	}, func() tea.Cmd {
		m.openDialog(jobPicker(m, id, jobs))
		return nil
	})
}

func jobPicker(m *model, id session.ID, jobs []session.Job) *dialog.Picker {
	p := &dialog.Picker{Title: "Jobs", Enter: "show its output", Hint: "ctrl+d: cancel"}
	for _, j := range jobs {
		p.Items = append(p.Items, dialog.Entry{ID: string(j.ID), Label: j.Command, Detail: string(j.Status)})
	}
	p.Pick = func(it dialog.Entry) tea.Cmd { return showJobLog(m, id, session.JobID(it.ID)) }
	c := m.api
	cancel := func(it dialog.Entry) tea.Cmd {
		return m.callAPI("cancel the job", func(ctx context.Context) error {
			_, err := c.Jobs().Cancel(ctx, id, session.JobID(it.ID))
			return err
		}, func() tea.Cmd { m.closeDialog(p); return nil })
	}
	p.Actions = map[string]dialog.Action{"ctrl+d": {Do: func(it dialog.Entry) tea.Cmd {
		m.openDialog(&dialog.Choice{
			Title: "Cancel the job " + it.Label + "?", Text: []string{"Its processes are ended."},
			Options: []dialog.Reply{
				{Key: "y", Label: "cancel it", Do: func() tea.Cmd { return cancel(it) }}, {Key: "n", Label: "let it run"},
			},
			At: 1, Type: m.typeText,
		})
		return nil
	}}}
	return p
}

// jobTail is the number of bytes that are shown of the newest output of a job.
const jobTail = 64 << 10

func showJobLog(m *model, id session.ID, job session.JobID) tea.Cmd {
	c := m.api
	var log api.JobLog
	return m.callAPI("read the job's output", func(ctx context.Context) (err error) {
		log, err = c.Jobs().Log(ctx, id, job, -jobTail)
		return err
	}, func() tea.Cmd {
		m.openDialog(&dialog.Text{Title: "Output of " + string(job), Body: strings.Split(log.Text, "\n")})
		return nil
	})
}

// showTodos shows the model's list of todos.
func showTodos(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	body := describe.FormatTodos(m.session.Todos)
	if len(body) == 0 {
		body = []string{"The model has no list of todos."}
	}
	m.openDialog(&dialog.Text{Title: "Todos", Body: body})
	return nil
}
