package transcript

import (
	"cmp"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe/markdown"
	"github.com/cairn-dev/cairn/internal/session"
)

// section shows one message, or one item of an answer.
type section struct {
	message session.MessageID
	item    any // *session.User, *Shell, *Compaction, *Text, *Reasoning, *Tool, or note

	live    []byte // the text of an open item as far as it has arrived
	arrived arrivedLines
	toggled bool // it is not open or closed as the others are

	afterCall bool // it follows a call and is not one: an empty line separates them
	selected  bool
	lines     []string // rendered; nil if that must be done again
}

// arrivedLines are the complete lines of a live text.
type arrivedLines struct {
	size   int // bytes
	stream *markdown.LiveText
}

// note is a line about the session.
type note struct {
	text   string
	failed bool
	quiet  bool
}

// noteOf says why a turn failed, and what helps.
func noteOf(f session.Failure) note {
	switch f.Reason {
	case session.ReasonAborted:
		return note{text: "stopped"}
	case session.ReasonAuth:
		if strings.Contains(f.Message, session.KeyPlaceMark) {
			break // another stored key would not be used
		}
		return note{text: f.Message + "; /login stores another key", failed: true}
	}
	return note{text: f.Message, failed: true}
}

// content returns the item of an answer that the section shows, nil if it shows something else.
func (b *section) content() session.Content {
	c, _ := b.item.(session.Content)
	return c
}

func (b *section) part() session.PartID {
	if c := b.content(); c != nil {
		return c.ItemID()
	}
	return ""
}

// isCall reports whether the section is a call or a command, of which one line is shown.
func (b *section) isCall() bool {
	switch b.item.(type) {
	case *session.Tool, *session.Shell:
		return true
	}
	return false
}

// isRunning reports whether the section is a call that has no result yet.
func (b *section) isRunning() bool { return b.isCall() && !b.isSettled() }

// isSettled reports whether the item does not change any more.
func (b *section) isSettled() bool {
	switch x := b.item.(type) {
	case *session.Text:
		return x.Time == nil || x.Time.Completed != 0
	case *session.Reasoning:
		return x.Time == nil || x.Time.Completed != 0
	case *session.Tool:
		return x.State.Status.IsSettled()
	case *session.Shell:
		return x.Time.Completed != 0
	}
	return true
}

// addLive adds a fragment to the live text. One behind a gap is dropped: the end of the item brings the whole text.
func (b *section) addLive(f *session.Fragment) {
	if b.live == nil {
		b.live = []byte(b.text())
	}
	if f.Offset > len(b.live) {
		return
	}
	if f.Offset < b.arrived.size {
		b.arrived = arrivedLines{}
	}
	b.live, b.lines = append(b.live[:f.Offset], f.Delta...), nil
}

// text returns the text of a prompt, answer or note, "" for calls.
func (b *section) text() string {
	if b.live != nil {
		return string(b.live)
	}
	switch x := b.item.(type) {
	case *session.User:
		return x.Text
	case *session.Text:
		return x.Text
	case *session.Reasoning:
		return x.Text
	case *session.Compaction:
		return x.Summary
	case note:
		return x.text
	}
	return ""
}

func (b *section) contains(text string) bool {
	if text == "" {
		return false
	}
	all := b.text()
	switch x := b.item.(type) {
	case *session.Tool:
		all = string(x.State.Input) + "\n" + outputOf(x) + "\n" + errorOf(x)
	case *session.Shell:
		all = x.Command + "\n" + x.Output
	}
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}

// copyPart returns a part of the section, "" if it has none.
func (b *section) copyPart(what Excerpt) string {
	switch x := b.item.(type) {
	case *session.User, *session.Text:
		if what == ExcerptCode {
			return lastCode(b.text())
		}
		if what == ExcerptMessage {
			return b.text()
		}
	case *session.Shell:
		switch what {
		case ExcerptCommand:
			return x.Command
		case ExcerptMessage:
			return x.Output
		}
	case *session.Tool:
		switch what {
		case ExcerptCommand:
			return commandOf(x)
		case ExcerptMessage:
			return cmp.Or(outputOf(x), errorOf(x))
		}
	}
	return ""
}
