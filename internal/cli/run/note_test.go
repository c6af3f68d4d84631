package run

import (
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/session"
)

// notePrinter collects notes.
type notePrinter struct {
	printer.Printer
	notes []string
}

func (p *notePrinter) ShowNote(text string) { p.notes = append(p.notes, text) }

// A plugin that does not run is named once: before the prompt, also if that is sent again, and not when the session says it
// too.
func TestPluginProblemOnce(t *testing.T) {
	t.Parallel()
	p := &notePrinter{}
	l := &workLoop{id: "ses_1", printer: p, desk: newAskDesk("", p.ShowNote)}
	l.desk.noteProblem("plugin/a", "no luck")
	l.desk.noteProblem("plugin/a", "no luck")
	for _, n := range []session.Note{
		{SessionID: "ses_1", Source: "plugin/a", Text: "no luck"},
		{SessionID: "ses_1", Source: "plugin/a", Text: "gone"},
		{SessionID: "ses_2", Source: "plugin/a", Text: "gone"},
		{SessionID: "ses_1", Source: "plugin/a", Text: "gone"},
	} {
		l.showNote(&n)
	}
	if want := []string{"plugin/a: no luck", "plugin/a: gone", "plugin/a: gone"}; !slices.Equal(p.notes, want) {
		t.Errorf("%q, want %q", p.notes, want)
	}
}
