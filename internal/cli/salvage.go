package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/session"
)

// Salvage is what could be brought over from a damaged store.
type Salvage struct {
	Home     string            `json:"home"` // the new one, to be used as CAIRN_HOME
	Events   int               `json:"events"`
	Sessions []SalvagedSession `json:"sessions"`
	Lost     []string          `json:"lost"` // what belongs to no session that is known
}

// SalvagedSession is what could be brought over of a session: its events up to the first that is lost.
type SalvagedSession struct {
	SessionID session.ID `json:"sessionID"`
	Title     string     `json:"title,omitzero"`
	Events    int        `json:"events"` // kept
	Lost      []string   `json:"lost"`
}

// whole reports whether nothing was lost.
func (s *Salvage) whole() bool {
	for _, one := range s.Sessions {
		if len(one.Lost) > 0 {
			return false
		}
	}
	return len(s.Lost) == 0
}

func (a *app) salvageCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "salvage DIR", Short: "Copy what can be read of a damaged store into a new home", Args: cobra.ExactArgs(1),
		Long: "Salvage copies what can be read of the store into the new directory DIR, and changes nothing where it reads.\n" +
			"Of each session it keeps the events up to the first that is lost. It fails when anything was lost.\n" +
			"Look at the result with CAIRN_HOME=DIR; to go on with it, put DIR/data in the place of the old data folder.",
		Example: "  cairn salvage ~/salvaged\n  CAIRN_HOME=~/salvaged cairn session list --all",
		RunE: a.does(func(ctx context.Context, args []string) error {
			o, err := a.options("")
			if err != nil {
				return err
			}
			dir, err := a.absolute(args[0])
			if err != nil {
				return err
			}
			s, err := a.host.Salvage(ctx, o, dir)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(s)
			} else {
				a.showSalvage(s)
			}
			if err == nil && !s.whole() {
				err = &exit{code: exitError}
			}
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) showSalvage(s *Salvage) {
	for _, one := range s.Sessions {
		style, mark := green, a.marks.good
		if len(one.Lost) > 0 {
			style, mark = red, a.marks.bad
		}
		a.out.printf("%s %s %s: %d events kept\n", a.out.paint(style, mark), one.SessionID, line(one.Title, 70), one.Events)
		for _, lost := range one.Lost {
			a.out.printf("    lost: %s\n", line(lost, 300))
		}
	}
	for _, lost := range s.Lost {
		a.out.printf("%s lost: %s\n", a.out.paint(red, a.marks.bad), line(lost, 300))
	}
	a.out.printf("%d events of %d sessions are in %s.\n", s.Events, len(s.Sessions), s.Home)
	a.err.printf("Look: CAIRN_HOME=%s cairn session list --all\n", fmt.Sprintf("%q", s.Home))
}
