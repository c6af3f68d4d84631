package admin

import (
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// openCodeSession is a session as OpenCode's session list prints it for programs.
type openCodeSession struct {
	ID        session.ID        `json:"id"`
	Title     string            `json:"title"`
	Updated   int64             `json:"updated"`
	Created   int64             `json:"created"`
	ProjectID session.ProjectID `json:"projectId"`
	Directory string            `json:"directory"`
}

// printOpenCodeSessionJSON prints the list for programs. OpenCode prints nothing for an empty list.
func (g sessionCommands) printOpenCodeSessionJSON(list []*session.Session) error {
	if len(list) == 0 && g.inv.IsOpenCode() {
		return nil
	}
	out := []openCodeSession{}
	for _, s := range list {
		out = append(out, openCodeSession{s.ID, s.Title, s.Time.Updated, s.Time.Created, s.ProjectID, s.Location.Directory})
	}
	return g.inv.PrintJSON(out)
}

// printOpenCodeSessionTable prints the columns of OpenCode's list: id, title and time of the last change.
func (g sessionCommands) printOpenCodeSessionTable(list []*session.Session) {
	if len(list) == 0 {
		return
	}
	t := g.inv.NewTable("Session ID", "Title", "Updated")
	t.Ruled, t.MinWidths = true, []int{20, 25}
	for _, s := range list {
		at := time.UnixMilli(s.Time.Updated)
		updated := at.Format("3:04 PM")
		if now := time.Now(); at.YearDay() != now.YearDay() || at.Year() != now.Year() {
			updated += " · " + at.Format("01/02/2006")
		}
		t.AddRow(string(s.ID), terminal.FirstLine(strings.TrimSpace(s.Title), 100), updated)
	}
	t.Print()
}
