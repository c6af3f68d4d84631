package mirror

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/changes"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

// syncSession writes what changed of a session; a session that does not exist is removed. The lock is held from the
// read of the store on, so that of two processes the later one writes the newer state.
func (m *Mirror) syncSession(ctx context.Context, c *changes.Change, t *tally) error {
	return m.tree.Change(ctx, func(tree jsontree.Change) error {
		w := &writer{store: m.Store, tree: tree, tally: t, change: c}
		err := w.sync(ctx)
		if !errors.Is(err, store.ErrDamaged) {
			return err
		}
		m.noteDamage(c.ID, err)
		if t != nil {
			t.damaged = append(t.damaged, c.ID)
		}
		return nil
	})
}

// writer writes one session.
type writer struct {
	store  store.Viewer
	tree   jsontree.Change
	tally  *tally
	change *changes.Change

	session *session.Session
	pending []*session.Input
	kept    map[string]bool // files of messages that belong to the session; only if the whole session is written
}

func (w *writer) sync(ctx context.Context) error {
	// Read the session and what waits in its inbox.
	found := false
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if w.session, found, err = r.Session(w.change.ID); err == nil && found {
			w.pending, err = store.PendingInputs(r, w.change.ID, "", 0)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !found || w.session.Ephemeral { // its command deletes it soon
		return w.removeSession()
	}
	// The session comes first, so that no message is without one.
	if err := w.writeSession(ctx); err != nil {
		return err
	}
	if w.change.Whole {
		w.kept = map[string]bool{}
		if err := w.change.ReadDiff(ctx, w.store); err != nil {
			return err
		}
	}
	if err := w.change.Render(ctx, w.store, w.session, w.writeMessage); err != nil {
		return err
	}
	for _, v := range opencode.PendingMessages(w.session, w.pending) {
		if err := w.writeMessage(v); err != nil {
			return err
		}
	}
	if err := w.writeBeside(); err != nil {
		return err
	}
	return w.removeStale()
}

// writeSession writes the session and its project.
func (w *writer) writeSession(ctx context.Context) error {
	v := opencode.GlobalSessionOf(w.session)
	project, id := jsontree.FileName(string(v.ProjectID)), jsontree.FileName(string(v.ID))
	// The first session of a project names its working tree: another one may be in another checkout.
	key := jsontree.Key{"project", project}
	isFirst := w.tally.isFirstOf(key) || !w.hasProject(key, v.ProjectID)
	if !isFirst && w.change.Whole && w.tally == nil { // it may have moved with its project
		var err error
		if isFirst, err = w.isFirstOfProject(ctx); err != nil {
			return err
		}
	}
	if isFirst {
		p := opencode.Project{
			ID: v.ProjectID, Worktree: v.Project.Worktree, Sandboxes: []string{},
			Time: opencode.ProjectTime{Created: v.Time.Created, Updated: v.Time.Created},
		}
		if v.Project.Worktree != "/" {
			p.VCS = "git"
		}
		if err := w.write(key, p); err != nil {
			return err
		}
	}
	w.tally.noteProject(key)
	if err := w.write(jsontree.Key{"session", project, id}, v.Session); err != nil || !w.change.Whole {
		return err
	}
	return w.removeFromProjects(id, project) // it may have moved
}

// isFirstOfProject reports whether no older session has the project of the session.
func (w *writer) isFirstOfProject(ctx context.Context) (isFirst bool, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		oldest, err := r.RawSessions(store.SessionQuery{
			ProjectID: w.session.ProjectID, Archived: true, Oldest: true, Limit: 1,
		})
		isFirst = len(oldest) > 0 && oldest[0].ID == w.session.ID
		return err
	})
	return isFirst, err
}

// hasProject reports whether the project's file is there, and one of the project.
func (w *writer) hasProject(key jsontree.Key, id session.ProjectID) bool {
	var p opencode.Project
	text, err := w.tree.Read(key)
	return err == nil && json.Unmarshal(text, &p) == nil && p.ID == id
}

// removeFromProjects removes the session's file from all projects but one. A project without sessions goes.
func (w *writer) removeFromProjects(id, keep string) error {
	projects, err := w.tree.ListFolders("session")
	if err != nil {
		return err
	}
	for _, p := range projects {
		if p == keep {
			continue
		}
		if err := w.remove(jsontree.Key{"session", p, id}); err != nil {
			return err
		}
		left, err := w.tree.List("session", p)
		if err == nil && len(left) == 0 {
			err = w.remove(jsontree.Key{"project", p})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeMessage writes a message after its parts, and removes parts that it does not have any more.
func (w *writer) writeMessage(v opencode.Message) error {
	id, _ := opencode.IDAndTime(v.Info)
	name := jsontree.FileName(string(id))
	parts := map[string]bool{}
	for _, p := range v.Parts {
		part := jsontree.FileName(string(opencode.PartID(p)))
		parts[part] = true
		if err := w.write(jsontree.Key{"part", name, part}, p); err != nil {
			return err
		}
	}
	if w.kept != nil {
		w.kept[name] = true
	}
	key := jsontree.Key{"message", jsontree.FileName(string(w.change.ID)), name}
	if err := w.write(key, v.Info); err != nil {
		return err
	}
	return w.removeOthers(parts, "prt", "part", name)
}

// removeOthers removes the values below the prefix whose names begin as those of cairn and are not kept.
func (w *writer) removeOthers(kept map[string]bool, begins string, prefix ...string) error {
	keys, err := w.tree.List(prefix...)
	if err != nil {
		return err
	}
	for _, k := range keys {
		name := k[len(k)-1]
		if kept[name] || !strings.HasPrefix(name, begins) && !strings.HasPrefix(name, jsontree.DigestPrefix) {
			continue
		}
		if prefix[0] == "message" {
			err = w.removeMessage(k)
		} else {
			err = w.remove(k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeStale removes messages that the session does not have any more.
func (w *writer) removeStale() error {
	if w.kept == nil {
		return nil
	}
	return w.removeOthers(w.kept, "msg", "message", jsontree.FileName(string(w.change.ID)))
}

func (w *writer) removeMessage(k jsontree.Key) error {
	if err := w.remove(k); err != nil {
		return err
	}
	return w.removeOthers(nil, "", "part", k[2])
}

// removeSession removes everything of a deleted session.
func (w *writer) removeSession() error {
	id := jsontree.FileName(string(w.change.ID))
	if err := w.removeOthers(nil, "", "message", id); err != nil {
		return err
	}
	for _, collection := range []string{"session_diff", "todo", "share"} {
		if err := w.remove(jsontree.Key{collection, id}); err != nil {
			return err
		}
	}
	return w.removeFromProjects(id, "")
}

// writeBeside writes what the session changed, and its todo list.
func (w *writer) writeBeside() error {
	id := jsontree.FileName(string(w.change.ID))
	if d := w.change.Diff; d != nil {
		if err := w.write(jsontree.Key{"session_diff", id}, opencode.FileDiffsOf(d.Session)); err != nil {
			return err
		}
	} else if w.change.Whole {
		if err := w.remove(jsontree.Key{"session_diff", id}); err != nil {
			return err
		}
	}
	if len(w.session.Todos) == 0 {
		return w.remove(jsontree.Key{"todo", id})
	}
	return w.write(jsontree.Key{"todo", id}, w.session.Todos)
}

func (w *writer) write(k jsontree.Key, v any) error {
	changed, err := w.tree.Write(k, v)
	if err == nil {
		w.tally.noteFile(k, changed)
	}
	return err
}

func (w *writer) remove(k jsontree.Key) error {
	removed, err := w.tree.Remove(k)
	w.tally.noteRemoval(removed)
	return err
}
