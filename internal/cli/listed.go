package cli

import (
	"context"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// The formats of OpenCode's session list.
const (
	formatTable = "table"
	formatJSON  = "json"
)

// listedSession is a session as OpenCode lists it for programs.
type listedSession struct {
	ID        session.ID        `json:"id"`
	Title     string            `json:"title"`
	Updated   int64             `json:"updated"`
	Created   int64             `json:"created"`
	ProjectID session.ProjectID `json:"projectId"`
	Directory string            `json:"directory"`
}

func listed(list []*session.Session) []listedSession {
	out := []listedSession{}
	for _, s := range list {
		out = append(out, listedSession{s.ID, s.Title, s.Time.Updated, s.Time.Created, s.ProjectID, s.Location.Directory})
	}
	return out
}

// printListed prints the list for programs; of no sessions OpenCode prints nothing.
func (a *app) printListed(list []*session.Session) error {
	if len(list) == 0 && a.asOpenCode() {
		return nil
	}
	return a.printJSON(listed(list))
}

// listAsOpenCode prints the columns of OpenCode's list: the id, the title, and when it was last changed.
func (a *app) listAsOpenCode(list []*session.Session) {
	if len(list) == 0 {
		return
	}
	t := a.table("Session ID", "Title", "Updated")
	t.ruled, t.least = true, []int{20, 25}
	for _, s := range list {
		at := time.UnixMilli(s.Time.Updated)
		updated := at.Format("3:04 PM")
		if now := time.Now(); at.YearDay() != now.YearDay() || at.Year() != now.Year() {
			updated += " · " + at.Format("01/02/2006")
		}
		t.row(string(s.ID), line(strings.TrimSpace(s.Title), 100), updated)
	}
	t.print()
}

// listAgentsAsOpenCode prints each agent with the rules that hold for it.
func (a *app) listAgentsAsOpenCode(ctx context.Context, c *api.Client) error {
	all, err := peerOf(c).Agents(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		a.out.printf("%s (%s)\n  ", line(x.Name, 100), x.Mode)
		if err := a.printJSON(x.Rules); err != nil {
			return err
		}
	}
	return nil
}

// listKeysAsOpenCode prints the providers that have a key: those that are kept, then those of the environment.
func (a *app) listKeysAsOpenCode(list []keyInfo) {
	var kept, found []keyInfo
	for _, k := range list {
		if strings.HasPrefix(k.From, "$") {
			found = append(found, k)
		} else {
			kept = append(kept, k)
		}
	}
	show := func(title, what string, keys []keyInfo) {
		a.out.printf("┌  %s\n│\n", title)
		for _, k := range keys {
			about := string(k.Kind)
			if name, ok := strings.CutPrefix(k.From, "$"); ok {
				about = name
			}
			a.out.printf("●  %s %s\n│\n", line(k.Provider, 60), line(about, 100))
		}
		a.out.printf("└  %d %s\n\n", len(keys), what)
	}
	show("Credentials", "credentials", kept)
	if len(found) > 0 {
		show("Environment", "environment variables", found)
	}
}
