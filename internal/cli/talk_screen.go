package cli

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui"
)

// talkScreen shows a talk: what the model says on standard output, all else on standard error. It only ever
// writes on: nothing on a terminal is moved or erased, so that any size of it will do.
type talkScreen struct {
	app     *app
	waiting bool // the sign that a line is waited for is the last on the screen
}

// Said implements tui.Screen, as all below.
func (s *talkScreen) Said(text string) {
	s.begin()
	s.app.out.say(text)
}

// SaidAll ends a text.
func (s *talkScreen) SaidAll() { s.app.out.freshLine() }

// begin ends what waits on the line.
func (s *talkScreen) begin() {
	if s.waiting {
		s.waiting = false
		s.app.err.freshLine()
	}
}

func (s *talkScreen) line(style, mark, text string) {
	s.begin()
	s.app.out.freshLine()
	s.app.err.freshLine()
	s.app.err.printf("%s %s\n", s.app.err.paint(style, mark), text)
}

// Called shows a call in one line, and one more if it failed.
func (s *talkScreen) Called(c tui.Call) {
	what := describe(c.Tool, c.Input)
	switch {
	case c.Failed != "":
		s.line(red, s.app.marks.bad, what+": "+line(c.Failed, 300))
	case c.Ended:
		s.line(green, s.app.marks.good, what)
	default:
		s.line(cyan, s.app.marks.call, what)
	}
}

// Told shows a prompt of somebody else's.
func (s *talkScreen) Told(text string) { s.line(bold, ">", s.app.err.paint(bold, line(text, 200))) }

// Line shows a line of ours, whole: what is agreed to may stand in it. Lines that others put into it stand below it.
func (s *talkScreen) Line(text string) {
	s.line("", " ", strings.ReplaceAll(harmless(text), "\n", "\n    "))
}

// Note shows what should be heeded.
func (s *talkScreen) Note(text string) { s.line(yellow, "!", line(text, 600)) }

// Asked shows what a permission is wanted for.
func (s *talkScreen) Asked(a session.PendingAsk) {
	s.begin()
	s.app.out.freshLine()
	s.app.err.freshLine()
	showAsk(s.app.err, s.app.marks, a)
}

// Questioned shows a question with its options, numbered.
func (s *talkScreen) Questioned(q session.Question) {
	s.begin()
	s.app.out.freshLine()
	s.app.err.freshLine()
	showQuestion(s.app.err, s.app.marks, q)
}

// Ready shows that a line is waited for.
func (s *talkScreen) Ready(answer bool) {
	if s.waiting {
		return
	}
	s.app.out.freshLine()
	s.app.err.freshLine()
	sign := "> "
	if answer {
		sign = "  > "
	}
	s.app.err.printf("%s", sign)
	s.waiting = true
}

// Typed notes that the terminal has begun another line.
func (s *talkScreen) Typed() {
	if s.app.err.terminal {
		s.waiting, s.app.err.midline = false, false
		s.app.out.midline = s.app.out.midline && !s.app.out.terminal
	}
}
