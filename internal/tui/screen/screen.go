// Package screen draws frames on a terminal.
//
// A frame is written when it differs from the one on the screen: the lines that differ, as one synchronized update.
// Nothing is written and no timer runs in between, and the screen is cleared only when it is opened. A line that the
// terminal shows wider or narrower than it was measured does not move the others.
package screen

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Picture is the content of the screen.
type Picture struct {
	Lines  []string // with styles; each at most as wide as the screen
	X, Y   int      // of the cursor
	Cursor bool     // the cursor is shown
	Title  string   // of the window; "" leaves it alone
}

// Screen is a terminal. A write that fails is not reported: the reader of the terminal's keys learns that it is gone.
// Not safe for concurrent use.
type Screen struct {
	out    io.Writer
	styled *colorprofile.Writer // reduces colours to those of the terminal

	lent          chan struct{} // full while a command has the terminal
	mouse         bool
	width, height int // 0 until it is known
	isOpen        bool
	shown         Picture
	clean         bool // the screen shows what is in shown
}

// New returns the screen of a terminal, which is opened by Resize. With mouse, the terminal sends what the mouse does.
func New(out io.Writer, environ []string, mouse bool) *Screen {
	styled := colorprofile.NewWriter(out, environ)
	styled.Profile = max(styled.Profile, colorprofile.ASCII) // a terminal without a name has no colours
	return &Screen{out: out, styled: styled, mouse: mouse, lent: make(chan struct{}, 1)}
}

// The modes of the interface. Terminals ignore those that they do not have.
const (
	openModes = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeAutoWrap + ansi.SetModeBracketedPaste +
		ansi.SetModeFocusEvent + ansi.SetModeUnicodeCore + ansi.SetModifyOtherKeys2
	closeModes = ansi.ResetModifyOtherKeys + ansi.ResetModeUnicodeCore + ansi.ResetModeFocusEvent +
		ansi.ResetModeBracketedPaste + ansi.SetModeAutoWrap + ansi.SetModeTextCursorEnable +
		ansi.ResetModeAltScreenSaveCursor
	disambiguateKeys = 1

	// Without the mouse, the wheel must not arrive as arrow keys, which recall earlier prompts. On is the default of the
	// terminals that have this mode, but xterm's.
	noWheelKeys = "\x1b[?1007l"
	wheelKeys   = "\x1b[?1007h"
	openMouse   = ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	closeMouse  = ansi.ResetModeMouseExtSgr + ansi.ResetModeMouseButtonEvent
)

// Open switches the terminal to the interface's modes. The next frame is drawn completely.
func (s *Screen) Open() {
	if s.isOpen || s.height == 0 {
		return
	}
	s.isOpen, s.clean = true, false
	mouse := noWheelKeys
	if s.mouse {
		mouse = openMouse
	}
	s.Send(openModes + mouse + ansi.PushKittyKeyboard(disambiguateKeys) + ansi.EraseEntireScreen)
}

// Close restores the terminal. Frames are not drawn until it is opened again.
func (s *Screen) Close() {
	if !s.isOpen {
		return
	}
	title := ""
	if s.shown.Title != "" {
		title = ansi.SetWindowTitle("")
	}
	mouse := wheelKeys
	if s.mouse {
		mouse = closeMouse
	}
	s.Send(title + ansi.PopKittyKeyboard(1) + mouse + closeModes)
	s.isOpen = false
}

// Resize sets the size of the terminal. The next frame is drawn completely.
func (s *Screen) Resize(width, height int) {
	s.width, s.height, s.clean = width, height, false
	s.Open()
}

// Send writes a sequence that does not change what is on the screen, such as the bell.
func (s *Screen) Send(sequence string) { _, _ = io.WriteString(s.out, sequence) }

// DrawPicture shows the picture.
// It writes only what differs from the picture before. The cursor is hidden meanwhile; terminals with synchronized
// output show the change in one step.
func (s *Screen) DrawPicture(p Picture) {
	if !s.isOpen {
		return
	}
	// The picture has exactly as many lines as the screen.
	p.Lines = slices.Clone(p.Lines[:min(len(p.Lines), s.height)])
	for len(p.Lines) < s.height {
		p.Lines = append(p.Lines, "")
	}
	// Write the lines that changed; a shorter line must not leave the end of the old one.
	var b strings.Builder
	for y, line := range p.Lines {
		if s.clean && s.shown.Lines[y] == line {
			continue
		}
		b.WriteString(ansi.CursorPosition(1, y+1))
		b.WriteString(line)
		b.WriteString(ansi.ResetStyle)
		if ansi.StringWidth(line) < s.width {
			b.WriteString(ansi.EraseLineRight)
		}
	}
	// Then the title and the cursor. If nothing changed, nothing is written at all.
	if p.Title != "" && (!s.clean || p.Title != s.shown.Title) {
		b.WriteString(ansi.SetWindowTitle(p.Title))
	}
	moved := p.X != s.shown.X || p.Y != s.shown.Y || p.Cursor != s.shown.Cursor
	if b.Len() == 0 && !moved {
		return
	}
	s.shown, s.clean = p, true
	if p.Cursor {
		b.WriteString(ansi.CursorPosition(p.X+1, p.Y+1) + ansi.SetModeTextCursorEnable)
	}
	_, _ = io.WriteString(s.styled, ansi.SetModeSynchronizedOutput+ansi.ResetModeTextCursorEnable+b.String()+
		ansi.ResetModeSynchronizedOutput)
}
