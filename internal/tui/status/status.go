// Package status is the line below the composer, and how a person hears that something waits.
package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// SessionLine is the content of the status line.
type SessionLine struct {
	Vi        string // the mode of vi's keys in the composer; "" without them
	Working   bool
	Waiting   bool // for the person
	Lost      bool // the connection
	Took      time.Duration
	RetryIn   time.Duration // until the next attempt at the model's answer; 0 or less: none waits
	Mode      string        // beside asking for all changes; "" without one
	Agent     string
	Model     string
	Effort    string  // of its reasoning; "" and "default" are the model's own
	Fill      float64 // of the model's window, in percent; 0 is unknown
	Tokens    session.Tokens
	Cost      session.USD
	Queue     int    // prompts that wait
	Parent    string // the session of which this is a subagent; "" for other sessions
	Branch    string
	Elsewhere string // the directory of a session of another one; "" of the interface's own
	Where     string
}

// State says in a word what the session does.
func (l SessionLine) State() string {
	switch {
	case l.Lost:
		return "reconnecting"
	case l.Waiting:
		return "waits for you"
	case l.Working && l.RetryIn > 0:
		return fmt.Sprintf("retries in %d s", (l.RetryIn+time.Second-1)/time.Second)
	case l.Working:
		return "working " + l.Took.Truncate(time.Second).String()
	default:
		return "ready"
	}
}

// Render returns the line, exactly width cells wide. What does not fit is left out from the end.
func (l SessionLine) Render(th style.Theme, width int) string {
	// The color of the state, the most urgent first.
	st := th.Success
	switch {
	case l.Lost:
		st = th.Error
	case l.Waiting:
		st = th.Warning
	case l.Working:
		st = th.Accent
	}
	// Collect the parts in the order of their importance.
	parts := []string{}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(l.Vi)
	if l.Queue > 0 {
		add(fmt.Sprintf("%d queued", l.Queue))
	}
	add(l.Mode)
	if l.Parent != "" {
		add("subagent of " + terminal.FirstLine(l.Parent, 30))
	}
	add(terminal.FirstLine(l.Agent, 30))
	add(terminal.FirstLine(l.Model, 50))
	if l.Effort != "" && l.Effort != "default" {
		add(terminal.FirstLine(l.Effort, 20) + " effort")
	}
	if l.Elsewhere != "" { // what is done there matters more than numbers
		add(strings.TrimSpace("in " + terminal.FirstLine(l.Elsewhere, 60) + " " + terminal.FirstLine(l.Branch, 40)))
	}
	if l.Fill > 0 {
		add(terminal.FormatPercent(l.Fill) + " context")
	}
	if n := l.Tokens.Sum(); n > 0 {
		add(terminal.FormatCount(n) + " tokens")
		add(describe.FormatCost(l.Cost, l.Tokens))
	}
	if l.Elsewhere == "" {
		add(terminal.FirstLine(l.Branch, 40))
	}
	add(terminal.FirstLine(l.Where, 200))
	// Add them while they fit, then fill the line.
	text, used := st.Render(l.State()), ansi.StringWidth(l.State())
	for _, p := range parts {
		w := ansi.StringWidth(p) + 3
		if used+w > width {
			break
		}
		text, used = text+th.Muted.Render(" · "+p), used+w
	}
	return text + strings.Repeat(" ", max(width-used, 0))
}
