package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Short: "List, show, rename, archive and delete sessions", Args: cobra.NoArgs,
		Long: "Sessions are named by their id, by the beginning of it, or by last: the newest of this directory.",
	}
	cmd.AddCommand(a.sessionList(), a.sessionShow(), a.sessionRename(), a.sessionArchive(), a.sessionDelete())
	return parent(cmd)
}

// parent makes a command that only holds others say so when it is called wrongly.
func parent(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("which one? Say one of its commands")
		}
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		if near := nearest(args[0], names); len(near) > 0 {
			return fmt.Errorf("there is no command %q; did you mean %s?", line(args[0], 40), strings.Join(near, " or "))
		}
		return fmt.Errorf("there is no command %q; there are %s", line(args[0], 40), strings.Join(names, ", "))
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args never lets it come here
	return cmd
}

func (a *app) sessionList() *cobra.Command {
	var asJSON, all, archived bool
	var limit int
	var search, format string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the sessions of this directory, newest first", Args: cobra.NoArgs,
		Example: "  cairn session list\n  cairn session list --all --search parser --json",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			if a.asOpenCode() {
				limit = max(limit, 0) // none is no error there
			} else if limit < 1 {
				return usagef("--limit must be 1 or more, got %d", limit)
			}
			if format != "table" && format != "json" {
				return usagef("--format must be table or json, got %q", line(format, 40))
			}
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				root := session.ID("")
				q := api.SessionQuery{Directory: a.Dir, Search: search, Archived: archived, Parent: &root}
				if all {
					q.Directory = ""
				}
				list, err := sessions(ctx, c, q, limit)
				if err != nil {
					return err
				}
				switch {
				case asJSON:
					return a.printJSON(list)
				case format == "json":
					return a.printOpenCodeSessionJSON(list)
				case a.asOpenCode():
					a.printOpenCodeSessionTable(list)
				default:
					a.listSessions(list, all)
				}
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&all, "all", "a", false, "of all directories")
	cmd.Flags().BoolVar(&archived, "archived", false, "archived ones too")
	most := 50
	if a.asOpenCode() {
		most = math.MaxInt
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", most, "at most this many")
	cmd.Flags().IntVar(&limit, "max-count", most, "")
	hide(cmd.Flags(), "max-count") // OpenCode's name for limit
	cmd.Flags().StringVar(&format, "format", "table", "table, or json: the lines of OpenCode's list")
	cmd.Flags().StringVar(&search, "search", "", "only those with this `TEXT` in the title")
	return cmd
}

// sessions reads as many pages as it takes.
func sessions(ctx context.Context, c *api.Client, q api.SessionQuery, limit int) ([]*session.Session, error) {
	list := []*session.Session{}
	for len(list) < limit {
		q.Limit = min(limit-len(list), 100)
		page, err := c.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Data...)
		if len(page.Data) < q.Limit || page.Cursor.Next == "" {
			break
		}
		q.Cursor = page.Cursor.Next
	}
	return list, nil
}

func (a *app) listSessions(list []*session.Session, all bool) {
	if len(list) == 0 {
		where := "in " + a.Dir
		if all {
			where = "yet"
		}
		a.err.printf("There are no sessions %s. Begin one: cairn run \"…\"\n", where)
		return
	}
	t := a.table("ID", "UPDATED", "COST", "TITLE")
	if all {
		t.head = append(t.head, "DIRECTORY")
	}
	for _, s := range list {
		row := []string{string(s.ID), ago(s.Time.Updated), "$" + money(s.Cost), title(s)}
		if all {
			row = append(row, line(s.Location.Directory, 80))
		}
		t.row(row...)
	}
	t.print()
}

func title(s *session.Session) string {
	t := line(s.Title, 70)
	if s.Time.Archived != 0 {
		t += " (archived)"
	}
	return t
}

// ago is a time in milliseconds for people.
func ago(ms int64) string {
	d := time.Since(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	case d < 30*24*time.Hour:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	default:
		return time.UnixMilli(ms).Format("2006-01-02")
	}
}

// findIfNamed is find, and "" when no session is named: all of them are meant.
func (a *app) findIfNamed(ctx context.Context, c *api.Client, name string) (session.ID, error) {
	if name == "" {
		return "", nil
	}
	s, err := a.find(ctx, c, name)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// find returns the session that somebody means: by id, by the beginning of one, or by "last".
func (a *app) find(ctx context.Context, c *api.Client, name string) (*session.Session, error) {
	if name == "last" {
		return newest(ctx, c, a.Dir, "cairn session list --all shows those of other directories; cairn run \"…\" begins one")
	}
	if err := session.CheckID("the session's id", session.PrefixSession, name); err != nil {
		return nil, &exit{exitUsage, err, "cairn session list shows what there is; last is the newest one here"}
	}
	s, err := c.Session(ctx, session.ID(name))
	if err == nil || !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return s, err
	}
	list, lerr := sessions(ctx, c, api.SessionQuery{Archived: true}, 500)
	if lerr != nil {
		return nil, err
	}
	var found []*session.Session
	for _, s := range list {
		if len(name) >= 8 && strings.HasPrefix(string(s.ID), name) {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, withNearestSessions(ctx, c, err)
}

func (a *app) sessionShow() *cobra.Command {
	var asJSON, thinking, full bool
	cmd := &cobra.Command{
		Use: "show [SESSION]", Short: "Show what was said and done", Args: cobra.MaximumNArgs(1),
		Example: "  cairn session show\n  cairn session show ses_… --full\n  cairn session show last --json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				s, err := a.find(ctx, c, first(args, "last"))
				if err != nil {
					return err
				}
				ms, err := messages(ctx, c, s.ID)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(struct {
						Info     *session.Session  `json:"info"`
						Messages []session.Message `json:"messages"`
					}{s, ms})
				}
				active, err := c.Active(ctx)
				if err != nil {
					return err
				}
				_, atWork := active[s.ID]
				(&transcript{out: a.out, marks: a.marks, thinking: thinking, full: full, atWork: atWork}).print(s, ms)
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&thinking, "thinking", false, "show the model's reasoning")
	cmd.Flags().BoolVar(&full, "full", false, "show what the tools answered")
	return cmd
}

func first(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}

// messages reads the whole history, oldest first.
func messages(ctx context.Context, c *api.Client, id session.ID) ([]session.Message, error) {
	ms := []session.Message{}
	q := api.MessageQuery{Oldest: true, Limit: 200}
	for {
		page, err := c.Messages(ctx, id, q)
		if err != nil {
			return nil, err
		}
		ms = append(ms, page.Data...)
		if len(page.Data) < q.Limit || page.Cursor.Next == "" {
			return ms, nil
		}
		q.Cursor = page.Cursor.Next
	}
}

func (a *app) sessionRename() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rename SESSION TITLE…", Short: "Give a session another title", Args: cobra.MinimumNArgs(2),
		Example: `  cairn session rename last "The parser"`,
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.withSession(ctx, args[0], func(ctx context.Context, c *api.Client, s *session.Session) error {
				if err := c.Rename(ctx, s.ID, strings.Join(args[1:], " ")); err != nil {
					return err
				}
				a.changed(asJSON, change{SessionID: s.ID}, "")
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) sessionDelete() *cobra.Command {
	var asJSON, yes bool
	cmd := &cobra.Command{
		Use: "delete SESSION…", Short: "Delete sessions for good; what they cost stays in cairn stats", Args: cobra.MinimumNArgs(1),
		Long: "Delete removes sessions for good. One that is not named by its whole id is deleted when you say yes to it on\n" +
			"the terminal, or with --yes.",
		Example: "  cairn session delete ses_…\n  cairn session delete last --yes",
		RunE: a.does(func(ctx context.Context, args []string) error {
			for _, name := range args {
				err := a.connected(ctx, func(ctx context.Context, c *api.Client) error {
					s, err := a.findToDelete(ctx, c, name)
					if err != nil {
						return err
					}
					if !yes && name != string(s.ID) {
						if err := a.confirm(ctx, asJSON, question{fmt.Sprintf("delete %s %s for good", s.ID, title(s)), "Say --yes, or name the session by its whole id."}); err != nil {
							return err
						}
					}
					if err := c.Delete(ctx, s.ID); err != nil {
						return err
					}
					a.changed(asJSON, change{SessionID: s.ID}, fmt.Sprintf("deleted %s %s", s.ID, title(s)))
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// findToDelete is find, but that of a damaged session that is named by its whole id the id is enough.
func (a *app) findToDelete(ctx context.Context, c *api.Client, name string) (*session.Session, error) {
	s, err := a.find(ctx, c, name)
	if damaged(err) && name != "last" {
		return &session.Session{ID: session.ID(name), Title: "(damaged)"}, nil
	}
	return s, err
}

// withSession finds the session and calls f with it.
func (a *app) withSession(ctx context.Context, name string, f func(context.Context, *api.Client, *session.Session) error) error {
	return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
		s, err := a.find(ctx, c, name)
		if err != nil {
			return err
		}
		return f(ctx, c, s)
	})
}
