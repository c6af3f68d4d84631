package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// previewUndo shows what taking the newest prompt back would do, and asks.
func previewUndo(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	// The same request twice: as a preview now, and for real after the confirmation.
	c, id := m.api, m.session.ID
	request := api.RevertRequest{Before: true, MessageID: m.transcript.SelectedMessage()}
	preview := request
	preview.Preview = true
	var r *session.Revert
	return m.callAPI("undo", func(ctx context.Context) (err error) {
		r, err = api.Reverts{Client: c}.StageRevert(ctx, id, preview)
		return err
	}, func() tea.Cmd {
		// The preview has arrived: show it, and ask.
		apply := func() tea.Cmd {
			return m.callAPI("undo", func(ctx context.Context) error {
				_, err := api.Reverts{Client: c}.StageRevert(ctx, id, request)
				return err
			}, func() tea.Cmd { m.note = "undone; /redo brings it back"; return openSession(m, id) })
		}
		title := "Take the newest prompt back?"
		if request.MessageID != "" {
			title = "Take the selected prompt back, and all that follows?"
		}
		m.openDialog(&dialog.Choice{
			Title: title, Text: dialog.DescribeRevert(r),
			Options: []dialog.Reply{{Key: "y", Label: "yes", Do: apply}, {Key: "n", Label: "no"}}, Type: m.typeText,
		})
		return nil
	})
}

// redoRevert brings back what undo took.
func redoRevert(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	return m.callAPI("redo", func(ctx context.Context) error {
		return api.Reverts{Client: c}.ClearRevert(ctx, id)
	}, func() tea.Cmd { return openSession(m, id) })
}

// forkSession continues in a copy of the session: before the selected message, or of all of it.
func forkSession(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id, before := m.api, m.session.ID, m.transcript.SelectedMessage()
	var s *session.Session
	return m.callAPI("fork", func(ctx context.Context) (err error) {
		s, err = api.Forks{Client: c}.ForkSession(ctx, id, api.ForkRequest{Before: before})
		return err
	}, func() tea.Cmd { return openSession(m, s.ID) })
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
func previewCompaction(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, id := m.api, m.session.ID
	var p api.CompactionPreview
	return m.callAPI("compact", func(ctx context.Context) (err error) {
		p, err = api.Contexts{Client: c}.PreviewCompaction(ctx, id, session.CompactionRequest{}, false)
		return err
	}, func() tea.Cmd {
		compact := func() tea.Cmd {
			return m.callAPI("compact", func(ctx context.Context) error {
				_, err := c.Compact(ctx, id, api.CompactRequest{ID: session.MessageID(m.ids.New(session.PrefixMessage))})
				return err
			}, nil)
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
		p := &dialog.Picker{Title: "Jobs", Enter: "show its output", Hint: "ctrl+d: cancel"}
		for _, j := range jobs {
			p.Items = append(p.Items, dialog.Entry{ID: string(j.ID), Label: j.Command, Detail: string(j.Status)})
		}
		p.Pick = func(it dialog.Entry) tea.Cmd { return showJobLog(m, id, session.JobID(it.ID)) }
		p.Actions = map[string]dialog.Action{"ctrl+d": {Do: func(it dialog.Entry) tea.Cmd {
			return m.callAPI("cancel the job", func(ctx context.Context) error {
				_, err := c.Jobs().Cancel(ctx, id, session.JobID(it.ID))
				return err
			}, nil)
		}, Closes: true}}
		m.openDialog(p)
		return nil
	})
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
