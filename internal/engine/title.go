package engine

import (
	"strings"
	"unicode"

	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// maxAutoTitle is how many characters a title has at most that is made of a prompt.
const maxAutoTitle = 60

// titleFromPrompts names an unnamed session after the first of the prompts with text.
func titleFromPrompts(tx store.Tx, id session.ID, ins []*session.Input) ([]eventlog.Draft, error) {
	if len(ins) == 0 {
		return nil, nil
	}
	s, err := journal.FindSession(tx, id)
	if err != nil || !command.IsUntitled(s) {
		return nil, err
	}
	for _, in := range ins {
		if title := titleFromText(in.Prompt.Text); title != "" {
			return eventlog.NewDrafts(&session.Renamed{Title: title, By: "auto"}), nil
		}
	}
	return nil, nil
}

// titleFromText returns the first line with text, cut between words where it is long. A word that is too long by itself
// is cut anywhere.
func titleFromText(prompt string) string {
	title := firstLine(prompt)
	if len(title) <= maxAutoTitle {
		return string(title)
	}
	title = title[:maxAutoTitle]
	if space := strings.LastIndex(string(title[:maxAutoTitle-1]), " "); space > 0 {
		return string(title)[:space] + "…"
	}
	title[maxAutoTitle-1] = '…'
	return string(title)
}

// firstLine is the first line of the text that says something, as one can be shown.
func firstLine(text string) []rune {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case unicode.IsGraphic(r):
				return r
			default: // controls, and marks that turn the direction of what is shown
				return -1
			}
		}, line)
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return []rune(line)
		}
	}
	return nil
}
