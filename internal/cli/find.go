package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// WithNearestSessions adds to an unknown session's error the ids that may have been meant.
func WithNearestSessions(ctx context.Context, c *api.Client, err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeNotFound || e.Kind != "session" || len(e.Nearest) > 0 {
		return err
	}
	page, lerr := c.Sessions(ctx, api.SessionQuery{Limit: 50, Archived: true})
	if lerr != nil {
		return err
	}
	ids := make([]string, len(page.Data))
	for i, s := range page.Data {
		ids[i] = string(s.ID)
	}
	better := *e
	better.Nearest = spelling.FindNearest(e.ID, ids, 3)
	hint := "cairn session list shows the sessions"
	return NewExitError(ExitUsage, &better, hint)
}

// NewestSession returns the newest session of exactly the directory. The hint goes with the error if there is no
// session.
func NewestSession(ctx context.Context, c *api.Client, dir, hint string) (*session.Session, error) {
	root := session.ID("")
	return readNewest(ctx, c, api.SessionQuery{Directory: dir, Parent: &root}, dir, hint)
}

// FindNewest returns the newest session of the client's repository, or of exactly its directory if here is set. note
// gets the session with its directory if that is another one, behind the verb.
func FindNewest(
	ctx context.Context, c *api.Client, n Newest, note func(string),
) (*session.Session, error) {
	q, err := c.RepositorySessions(ctx, n.Here)
	if err != nil {
		return nil, err
	}
	place := c.Directory
	if q.Within != "" {
		place = "the repository of " + place
	}
	s, err := readNewest(ctx, c, q, place, n.Hint)
	if err != nil || s.Location.Directory == c.Directory {
		return s, err
	}
	missing := c.IsDirectoryMissing(ctx, s.Location.Directory)
	if !missing && c.IsOfOtherProject(ctx, s) {
		if moved, err := followProject(ctx, c, s, note); err != nil || moved != nil {
			return moved, err
		}
	}
	// One whose directory is gone can be read only: take the newest one that can be continued, if there is one.
	if missing {
		found, err := findWorkable(ctx, c, q, note)
		switch {
		case err != nil:
			return nil, err
		case found == nil && n.Continue:
			return nil, newGoneError(s)
		case found == nil:
			note(n.Verb + string(s.ID) + " of " +
				describe.MarkMissingDirectory(terminal.FirstLine(s.Location.Directory, 200), true))
			return s, nil
		}
		if found.ID == s.ID { // it followed its project
			return found, nil
		}
		note("the directory of the newest session is gone: " + string(s.ID) + " of " +
			terminal.FirstLine(s.Location.Directory, 200))
		if s = found; s.Location.Directory == c.Directory {
			return s, nil
		}
	}
	note(n.Verb + string(s.ID) + " of " + describe.FormatDirectory(s.Location.Directory, c.Directory))
	return s, nil
}

// maxWorkable bounds the sessions that findWorkable looks at.
const maxWorkable = 100

// findWorkable returns the newest session of the query whose directory exists, or that follows its project to where that
// went; nil if there is none.
func findWorkable(
	ctx context.Context, c *api.Client, q api.SessionQuery, note func(string),
) (*session.Session, error) {
	q.Limit = maxWorkable
	page, err := c.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	// What holds for one session of a directory holds for the others of it.
	missing := map[string]bool{c.Directory: false}
	for _, s := range page.Data {
		dir := s.Location.Directory
		isMissing, known := missing[dir]
		if !known {
			isMissing = c.IsDirectoryMissing(ctx, dir)
			missing[dir] = isMissing
			if isMissing {
				if moved, err := followProject(ctx, c, s, note); err != nil || moved != nil {
					return moved, err
				}
			}
		}
		if !isMissing {
			return s, nil
		}
	}
	return nil, nil
}

// followProject moves a session to where its project went, says so, and returns it. Nil: it did not go anywhere.
func followProject(
	ctx context.Context, c *api.Client, s *session.Session, note func(string),
) (*session.Session, error) {
	moved, ok, err := c.FollowProject(ctx, s)
	if !ok || err != nil {
		return nil, err
	}
	note(fmt.Sprintf("the session %s went with its project from %s to %s", s.ID,
		terminal.FirstLine(s.Location.Directory, 200), terminal.FirstLine(moved.Location.Directory, 200)))
	return moved, nil
}

// CheckDirectory refuses to continue a session whose directory does not exist any more. If its project was moved, also if
// another one is in the directory now, the session follows, and *s is it as it is then.
func CheckDirectory(ctx context.Context, c *api.Client, s *session.Session, note func(string)) error {
	dir := s.Location.Directory
	missing := dir != c.Directory && c.IsDirectoryMissing(ctx, dir)
	if !missing && !c.IsOfOtherProject(ctx, s) {
		return nil
	}
	moved, err := followProject(ctx, c, s, note)
	if err != nil {
		return err
	}
	if moved != nil {
		*s = *moved
	}
	if moved != nil || !missing {
		return nil
	}
	return newGoneError(s)
}

// newGoneError returns the error of work in a session whose directory does not exist any more.
func newGoneError(s *session.Session) error {
	err := fmt.Errorf("the directory of session %s is gone: %s", s.ID, terminal.FirstLine(s.Location.Directory, 200))
	return NewExitError(ExitUsage, err, fmt.Sprintf("cairn session move %s DIR makes it go on in another directory; "+
		"make the old one again, such as with git worktree add, or start a new session", s.ID))
}

// readNewest returns the newest session of the query. The error without a session names the place.
func readNewest(ctx context.Context, c *api.Client, q api.SessionQuery, place, hint string) (*session.Session, error) {
	q.Limit = 1
	page, err := c.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(page.Data) == 0 {
		if page.Elsewhere > 0 {
			hint += "; " + DescribeElsewhere(page.Elsewhere)
		}
		return nil, NewExitError(ExitUsage, fmt.Errorf("no session in %s", place), hint)
	}
	return page.Data[0], nil
}

// Newest says which newest session is meant, and how it is spoken of.
type Newest struct {
	Here     bool   // of exactly this directory
	Continue bool   // one that can be continued: if there is none, the error is that of the newest one
	Verb     string // before the session's name in the note about another directory
	Hint     string // of the error without a session
}

// Kind is a kind of thing that commands name by id, and the hint that goes with the error about an unknown id.
type Kind struct{ Name, Hint string }

// FindByID returns the element whose id is name, or the only one whose id begins with name, which then has at least 8
// characters. Its error names similar ids.
func FindByID[T any, ID ~string](kind Kind, list []T, id func(T) ID, name string) (found T, err error) {
	ids, matches := make([]string, len(list)), 0
	for i, element := range list {
		ids[i] = string(id(element))
		if ids[i] == name {
			return element, nil
		}
		if len(name) >= 8 && strings.HasPrefix(ids[i], name) {
			found, matches = element, matches+1
		}
	}
	switch matches {
	case 1:
		return found, nil
	case 0:
		err = session.NotFound(kind.Name, name, spelling.FindNearest(name, ids, 3)...)
	default:
		err = fmt.Errorf("%q is ambiguous: the ids of %d %ss begin with it; give more of the id", name, matches, kind.Name)
	}
	var none T
	return none, NewExitError(ExitUsage, err, kind.Hint)
}

// ListSessions reads as many pages as it takes, and notes how many sessions are damaged and left out.
func (a *Invocation) ListSessions(
	ctx context.Context, c *api.Client, q api.SessionQuery, limit int,
) ([]*session.Session, error) {
	list, _, err := a.ListProjectSessions(ctx, c, q, limit)
	return list, err
}

// ListProjectSessions is ListSessions, and returns how many sessions of other checkouts of the repository there are.
func (a *Invocation) ListProjectSessions(
	ctx context.Context, c *api.Client, q api.SessionQuery, limit int,
) (list []*session.Session, elsewhere int, err error) {
	list, left, err := listSessions(ctx, c, q, limit)
	if left.Damaged > 0 {
		a.Note(fmt.Sprintf("the list is not complete: %d stored sessions are damaged; see cairn fsck", left.Damaged))
	}
	return list, left.Elsewhere, err
}

// DescribeElsewhere says how many sessions of other checkouts of the repository there are, and what lists them.
func DescribeElsewhere(n int) string {
	count := terminal.FormatPlural(n, "session")
	if n == api.MaxElsewhere {
		count = "at least " + count
	}
	return count + " of another checkout of this repository: cairn session list --all"
}

// leftOut counts the sessions that a list does not have.
type leftOut struct{ Damaged, Elsewhere int }

func listSessions(
	ctx context.Context, c *api.Client, q api.SessionQuery, limit int,
) (list []*session.Session, left leftOut, err error) {
	list = []*session.Session{}
	for len(list) < limit {
		q.Limit = min(limit-len(list), 100)
		page, err := c.Sessions(ctx, q)
		if err != nil {
			return nil, left, err
		}
		list, left.Damaged = append(list, page.Data...), left.Damaged+page.Damaged
		left.Elsewhere += page.Elsewhere
		if len(page.Data)+page.Damaged < q.Limit || page.Cursor.Next == "" {
			break
		}
		q.Cursor = page.Cursor.Next
	}
	return list, left, nil
}

// FindSessionID is FindSession for an optional name: "" stays "", which means all sessions.
func (a *Invocation) FindSessionID(ctx context.Context, c *api.Client, name string) (session.ID, error) {
	if name == "" {
		return "", nil
	}
	s, err := a.FindSession(ctx, c, name)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// CheckSessionName returns a usage error that names the field unless the name is an id or "last".
func CheckSessionName(field, name string) error {
	err := session.CheckID(field, session.PrefixSession, name)
	if name == "last" || err == nil {
		return nil
	}
	hint := "cairn session list shows the sessions; last is the newest one"
	if len(spelling.FindNearest(name, []string{"last"}, 1)) > 0 {
		hint = "Did you mean last, the newest session?"
	}
	return NewExitError(ExitUsage, err, hint)
}

// FindSession returns the session with this id, with this beginning of an id, or the newest one for "last".
func (a *Invocation) FindSession(ctx context.Context, c *api.Client, name string) (*session.Session, error) {
	// "last" is the newest session of the repository, for some commands of exactly this directory.
	if name == "last" {
		return FindNewest(ctx, c, Newest{
			Here: a.OnlyHere, Verb: "last is ",
			Hint: "cairn session list --all shows those of other directories; cairn run \"…\" starts one",
		}, a.Note)
	}
	// An id is complete: ask for it.
	if err := CheckSessionName("the session's id", name); err != nil {
		return nil, err
	}
	s, err := c.Session(ctx, session.ID(name))
	if err == nil || !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return s, err
	}
	// Else it may be the beginning of one: look among the newest sessions, archived ones too. At least 8 bytes are
	// needed.
	list, _, lerr := listSessions(ctx, c, api.SessionQuery{Archived: true}, 500)
	if lerr != nil {
		return nil, err
	}
	var found []*session.Session
	for _, s := range list {
		if len(name) >= 8 && strings.HasPrefix(string(s.ID), name) {
			found = append(found, s)
		}
	}
	// Exactly one must match.
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, WithNearestSessions(ctx, c, err)
}

// SessionAction is ClientAction for a command whose only argument is the session: without it, the newest one.
func (a *Invocation) SessionAction(
	f func(ctx context.Context, c *api.Client, s *session.Session) error,
) func(*cobra.Command, []string) error {
	return a.Action(func(ctx context.Context, args []string) error {
		return a.WithSession(ctx, FirstArg(args, "last"), f)
	})
}

// WithSession finds the session and calls f with it.
func (a *Invocation) WithSession(
	ctx context.Context,
	name string,
	f func(context.Context, *api.Client, *session.Session) error,
) error {
	return a.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		s, err := a.FindSession(ctx, c, name)
		if err != nil {
			return err
		}
		return f(ctx, c, s)
	})
}
