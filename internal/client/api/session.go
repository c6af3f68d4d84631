package api

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

func get[T any](ctx context.Context, c *Client, p string, q url.Values) (T, error) {
	var out T
	err := c.sendCall(ctx, call{method: http.MethodGet, path: p, query: q, out: &out})
	return out, err
}

func (c *Client) change(ctx context.Context, method, p string, in any) error {
	return c.sendCall(ctx, call{method: method, path: p, in: in})
}

// Create makes a session, or returns the one that the same request made before.
func (c *Client) Create(ctx context.Context, r CreateSession) (*session.Session, error) {
	r.Asks, r.Timezone = true, cmp.Or(r.Timezone, c.Timezone)
	var out Data[*session.Session]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session"), in: r, out: &out})
	return out.Data, err
}

// Import sends one piece of a session that was made elsewhere.
func (c *Client) Import(ctx context.Context, r ImportRequest) (ImportResult, error) {
	var out Data[ImportResult]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session", "import"), in: r, out: &out})
	return out.Data, err
}

// Session returns a session.
func (c *Client) Session(ctx context.Context, id session.ID) (*session.Session, error) {
	out, err := get[Data[*session.Session]](ctx, c, apiPath("session", string(id)), nil)
	return out.Data, err
}

// Sessions lists sessions, newest first unless the query says otherwise.
func (c *Client) Sessions(ctx context.Context, q SessionQuery) (Page[*session.Session], error) {
	return get[Page[*session.Session]](ctx, c, apiPath("session"), q.values())
}

func (q SessionQuery) values() url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("limit", count(q.Limit))
	set("cursor", q.Cursor)
	if q.Cursor != "" {
		return v
	}
	set("directory", q.Directory)
	set("project", string(q.Project))
	set("within", q.Within)
	set("subpath", q.Subpath)
	set("search", q.Search)
	set("tag", strings.Join(q.Tags, ","))
	if q.Parent != nil {
		v.Set("parent", string(*q.Parent))
	}
	if q.Archived {
		v.Set("archived", "true")
	}
	if q.Oldest {
		v.Set("order", "asc")
	}
	return v
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Update changes the session as the patch says and returns it.
func (c *Client) Update(ctx context.Context, id session.ID, p SessionPatch) (*session.Session, error) {
	var out Data[*session.Session]
	err := c.sendCall(ctx, call{method: http.MethodPatch, path: apiPath("session", string(id)), in: p, out: &out})
	return out.Data, err
}

// Rename sets the title.
func (c *Client) Rename(ctx context.Context, id session.ID, title string) error {
	_, err := c.Update(ctx, id, SessionPatch{Title: &title})
	return err
}

// Archive hides the session from lists, or brings it back.
func (c *Client) Archive(ctx context.Context, id session.ID, archived bool) error {
	_, err := c.Update(ctx, id, SessionPatch{Archived: &archived})
	return err
}

// Delete stops the session and removes it with its children.
func (c *Client) Delete(ctx context.Context, id session.ID) error {
	return c.change(ctx, http.MethodDelete, apiPath("session", string(id)), nil)
}

// SetBudget replaces the budget; nil lifts it.
func (c *Client) SetBudget(ctx context.Context, id session.ID, b *session.Budget) error {
	return c.change(ctx, http.MethodPut, apiPath("session", string(id), "budget"), BudgetRequest{b})
}

// Prompt admits a prompt. When it returns without error the prompt is durable.
func (c *Client) Prompt(ctx context.Context, id session.ID, r PromptRequest) (*session.Input, error) {
	var out Data[*session.Input]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session", string(id), "prompt"), in: r, out: &out})
	return out.Data, err
}

// Compact admits a request for a compaction. It is carried out between two turns.
func (c *Client) Compact(ctx context.Context, id session.ID, r CompactRequest) (CompactionItem, error) {
	var out Data[CompactionItem]
	err := c.sendCall(ctx, call{
		method: http.MethodPost, path: apiPath("session", string(id), "compact"), in: r,
		out: &out,
	})
	return out.Data, err
}

// RepositorySessions returns the query for the sessions, without subagents, of the client's repository: those of all
// its directories and worktrees, also from before its first commit or under an earlier path. Outside of repositories, if
// the directory cannot be read, or if here is set, it is for those of the directory alone.
func (c *Client) RepositorySessions(ctx context.Context, here bool) (SessionQuery, error) {
	root := session.ID("")
	q := SessionQuery{Directory: c.Directory, Parent: &root}
	if here {
		return q, nil
	}
	at, err := c.Location(ctx)
	if _, ok := errors.AsType[*session.Error](err); ok { // such as a broken configuration, which must not hide sessions
		return q, nil
	}
	if err == nil && at.Unlinked && at.Repository == "" { // its sessions are of the repository, which was moved
		return q, nil
	}
	if err == nil && (at.RecordID != "" || at.Repository != "") {
		q.Directory, q.Project, q.Within = "", at.ProjectRef(), at.Repository
	}
	return q, err
}

// IsDirectoryMissing reports whether a directory, such as that of a session, does not exist on the server's machine.
func (c *Client) IsDirectoryMissing(ctx context.Context, dir string) bool {
	if c.IsLocal { // a server would read the directory's configuration, too
		info, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
	}
	_, err := c.In(dir).Location(ctx)
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Field == "directory"
}

// IsOfOtherProject reports whether the directory of the session belongs to another project than the session.
func (c *Client) IsOfOtherProject(ctx context.Context, s *session.Session) bool {
	at, err := c.In(s.Location.Directory).Location(ctx)
	return err == nil && s.RecordID != "" && at.RecordID != "" && at.RecordID != s.RecordID
}

// FollowProject moves a session whose directory does not exist any more, or is another project's (IsOfOtherProject), to
// where its project went, as after a rename of the project's directory; its next work would do that by itself. It returns
// the session as it is then, and false if it is not known to have gone anywhere.
func (c *Client) FollowProject(ctx context.Context, s *session.Session) (moved *session.Session, ok bool, err error) {
	if s.RecordID == "" || s.ParentID != "" {
		return s, false, nil
	}
	err = c.MoveSession(ctx, s.ID, MoveRequest{})
	if errors.Is(err, &session.Error{Code: session.CodeInvalid}) { // the directory is gone
		return s, false, nil
	}
	if err == nil {
		moved, err = c.Session(ctx, s.ID)
	}
	if err != nil {
		return s, false, err
	}
	return moved, moved.Location.Directory != s.Location.Directory, nil
}

// maxDirectories bounds the directories that FindMissingDirectories asks for.
const maxDirectories = 20

// FindMissingDirectories returns which directories of the sessions do not exist on the server's machine, as
// IsDirectoryMissing decides. Of more than maxDirectories it looks at the first ones.
func (c *Client) FindMissingDirectories(ctx context.Context, list []*session.Session) map[string]bool {
	missing := map[string]bool{c.Directory: false}
	for _, s := range list {
		dir := s.Location.Directory
		if _, known := missing[dir]; !known && len(missing) <= maxDirectories {
			missing[dir] = c.IsDirectoryMissing(ctx, dir)
		}
	}
	return missing
}

// Uncompact makes visible to the model again what the newest compaction hides.
func (c *Client) Uncompact(ctx context.Context, id session.ID) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "uncompact"), nil)
}

// Interrupt stops the session's work and returns when that is recorded.
func (c *Client) Interrupt(ctx context.Context, id session.ID) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "interrupt"), nil)
}

// Wait returns when the session is idle.
func (c *Client) Wait(ctx context.Context, id session.ID) error {
	for {
		err := c.change(ctx, http.MethodPost, apiPath("session", string(id), "wait"), nil)
		if !errors.Is(err, &session.Error{Code: session.CodeUnavailable, Kind: KindWorking}) {
			return err
		}
	}
}

// Resume runs the session: its pending prompts or, with none, one turn on its history. It returns when that is done.
func (c *Client) Resume(ctx context.Context, id session.ID) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "resume"), nil)
}

// Active returns the sessions that are at work in the server's process, and those that wait with unfinished work.
func (c *Client) Active(ctx context.Context) (map[session.ID]Active, error) {
	out, err := get[Data[map[session.ID]Active]](ctx, c, apiPath("session", "active"), nil)
	return out.Data, err
}

// Status returns what the session is doing.
func (c *Client) Status(ctx context.Context, id session.ID) (Status, error) {
	out, err := get[Data[Status]](ctx, c, apiPath("session", string(id), "status"), nil)
	return out.Data, err
}

// InboxClient calls the operations on prompts that wait in a session.
type InboxClient struct{ client *Client }

// Inbox returns the operations on prompts that wait in a session.
func (c *Client) Inbox() InboxClient { return InboxClient{c} }

// List returns the prompts that wait, in the order of their promotion within each delivery.
func (g InboxClient) List(ctx context.Context, id session.ID) ([]*session.Input, error) {
	out, err := get[Data[[]*session.Input]](ctx, g.client, apiPath("session", string(id), "inbox"), nil)
	return out.Data, err
}

// Withdraw takes a pending prompt back.
func (g InboxClient) Withdraw(ctx context.Context, id session.ID, m session.MessageID) error {
	return g.client.change(ctx, http.MethodDelete, apiPath("session", string(id), "inbox", string(m)), nil)
}

// Edit replaces what a pending prompt says.
func (g InboxClient) Edit(ctx context.Context, id session.ID, m session.MessageID, p session.Prompt) error {
	return g.client.change(ctx, http.MethodPatch, apiPath("session", string(id), "inbox", string(m)),
		InputPatch{Prompt: &p})
}

// Redirect switches a pending prompt between steer and queue.
func (g InboxClient) Redirect(ctx context.Context, id session.ID, m session.MessageID, d session.Delivery) error {
	return g.client.change(ctx, http.MethodPatch, apiPath("session", string(id), "inbox", string(m)),
		InputPatch{Delivery: d})
}

// Reorder puts the pending prompts into the order of ms, which names each of them once.
func (g InboxClient) Reorder(ctx context.Context, id session.ID, ms []session.MessageID) error {
	return g.client.change(ctx, http.MethodPut, apiPath("session", string(id), "inbox"), InboxOrder{ms})
}

// MoveSession makes a session go on in another directory. It waits for the end of the turn that runs.
func (c *Client) MoveSession(ctx context.Context, id session.ID, r MoveRequest) error {
	return c.change(ctx, http.MethodPost, apiPath("session", string(id), "move"), r)
}

// Forks copies sessions.
type Forks struct{ Client *Client }

// ForkSession copies the session to a new one.
func (f Forks) ForkSession(ctx context.Context, id session.ID, r ForkRequest) (*session.Session, error) {
	var out Data[*session.Session]
	err := f.Client.sendCall(ctx, call{
		method: http.MethodPost, path: apiPath("session", string(id), "fork"), in: r,
		out: &out,
	})
	return out.Data, err
}

// Reverts calls the operations that take sessions back and show what they changed in files.
type Reverts struct{ Client *Client }

// StageRevert takes the session back as far as the request says, in place of an earlier revert that is staged. With
// Preview it only returns what would happen.
func (g Reverts) StageRevert(ctx context.Context, id session.ID, r RevertRequest) (*session.Revert, error) {
	var out Data[*session.Revert]
	p := apiPath("session", string(id), "revert", "stage")
	err := g.Client.sendCall(ctx, call{method: http.MethodPost, path: p, in: r, out: &out})
	return out.Data, err
}

// ClearRevert takes the staged revert back.
func (g Reverts) ClearRevert(ctx context.Context, id session.ID) error {
	return g.Client.change(ctx, http.MethodDelete, apiPath("session", string(id), "revert"), nil)
}

// CommitRevert removes the messages of the staged revert.
func (g Reverts) CommitRevert(ctx context.Context, id session.ID) error {
	return g.Client.change(ctx, http.MethodPost, apiPath("session", string(id), "revert", "commit"), nil)
}

// FileRecovery are the files of the newest committed revert that hold what they held before it, and those that stay.
type FileRecovery struct {
	MessageID session.MessageID  `json:"messageID"` // from which the revert took back
	Files     []session.FilePath `json:"files"`
	Copies    []string           `json:"copies,omitempty"` // of what the files held
	Kept      []session.KeptFile `json:"kept,omitempty"`
}

// RecoverFiles brings back the files of the newest committed revert.
func (g Reverts) RecoverFiles(ctx context.Context, id session.ID) (*FileRecovery, error) {
	var out Data[*FileRecovery]
	p := apiPath("session", string(id), "revert", "recover")
	err := g.Client.sendCall(ctx, call{method: http.MethodPost, path: p, out: &out})
	return out.Data, err
}

// DiffSelection selects what a session changed in files. The zero value selects all of it.
type DiffSelection struct {
	From    session.MessageID // only what the answers to this prompt changed
	Against session.ID        // what differs from the files of this session instead
	Context int               // lines around a change
}

// SessionDiff lists the files that a session, or a part of it, changed.
type SessionDiff struct {
	Data    []session.ChangedFile `json:"data"`
	Unknown []string              `json:"unknown,omitempty"` // for people: what else it may have changed
}

// ReadDiff returns what the session changed in files, in git's form.
func (g Reverts) ReadDiff(ctx context.Context, id session.ID, q DiffSelection) (SessionDiff, error) {
	v := url.Values{"context": {strconv.Itoa(q.Context)}}
	switch {
	case q.Against != "":
		v.Set("against", string(q.Against))
	case q.From != "":
		v.Set("from", string(q.From))
	default:
		v.Set("whole", "1")
	}
	return get[SessionDiff](ctx, g.Client, apiPath("session", string(id), "diff"), v)
}
