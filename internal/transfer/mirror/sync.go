package mirror

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

// syncSession writes what changed of a session; a session that does not exist is removed. The lock is held from the
// read of the store on, so that of two processes the later one writes the newer state.
func (m *Mirror) syncSession(ctx context.Context, c *change, t *tally) error {
	return m.tree.Change(ctx, func(tree jsontree.Change) error {
		w := &writer{store: m.Store, tree: tree, tally: t, change: c}
		err := w.sync(ctx)
		if !errors.Is(err, store.ErrDamaged) {
			return err
		}
		m.noteDamage(c.id, err)
		if t != nil {
			t.damaged = append(t.damaged, c.id)
		}
		return nil
	})
}

// writer writes one session.
type writer struct {
	store  store.Viewer
	tree   jsontree.Change
	tally  *tally
	change *change

	session *session.Session
	pending []*session.Input
	kept    map[string]bool // files of messages that belong to the session; only if the whole session is written
}

// chunk is the number of messages that are read at once.
const chunk = 128

func (w *writer) sync(ctx context.Context) error {
	// Read the session and what waits in its inbox.
	found := false
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if w.session, found, err = r.Session(w.change.id); err == nil && found {
			w.pending, err = store.PendingInputs(r, w.change.id, "", 0)
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
	if w.change.whole {
		w.kept = map[string]bool{}
		if err := w.readDiff(ctx); err != nil {
			return err
		}
		err = w.writeMessages(ctx, 0, -1)
	} else {
		err = w.writeChanged(ctx)
	}
	if err != nil {
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
	if !isFirst && w.change.whole && w.tally == nil { // it may have moved with its project
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
	if err := w.write(jsontree.Key{"session", project, id}, v.Session); err != nil || !w.change.whole {
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

// maxHeld bounds the messages that wait for an answer. A prompt that is not answered within as many messages is written
// as one without an answer.
const maxHeld = 4 * chunk

// writeMessages writes the messages of the session with seq >= from. asked is the seq of the prompt before them, which
// is not written; -1 without one.
func (w *writer) writeMessages(ctx context.Context, from, asked int64) error {
	// The first skip messages of held are not written: the newest prompt, which what follows depends on.
	var held []session.Message
	if asked >= 0 {
		prompt, err := w.read(ctx, store.MessageQuery{After: asked - 1, Limit: 1})
		if err != nil {
			return err
		}
		held = prompt
	}
	skip := len(held)
	for after, last := from-1, false; !last; {
		page, err := w.read(ctx, store.MessageQuery{After: after, Limit: chunk})
		if err != nil {
			return err
		}
		held = append(held, page...)
		ready := len(held)
		if last = len(page) < chunk; !last {
			after = page[len(page)-1].Meta().Seq
			ready = findReady(held)
		}
		if ready <= skip {
			continue
		}
		for _, v := range opencode.Render(w.session, held[:ready], false)[skip:] {
			if err := w.writeMessage(v); err != nil {
				return err
			}
		}
		// Go on with the newest prompt, and what waits.
		var next []session.Message
		if at := findPrompt(held[:ready]); at >= 0 {
			next = append(next, held[at])
		}
		skip, held = len(next), append(next, held[ready:]...)
	}
	return nil
}

// findReady returns how many of the first messages can be written: a prompt is shown with its answer, so those behind
// the newest answer wait.
func findReady(ms []session.Message) int {
	if len(ms) >= maxHeld {
		return len(ms)
	}
	for i := len(ms) - 1; i >= 0; i-- {
		if _, ok := ms[i].(*session.Assistant); ok {
			return i + 1
		}
	}
	return 0
}

// findPrompt returns the position of the newest prompt, -1 if there is none.
func findPrompt(ms []session.Message) int {
	for i := len(ms) - 1; i >= 0; i-- {
		if _, ok := ms[i].(*session.User); ok {
			return i
		}
	}
	return -1
}

func (w *writer) read(ctx context.Context, q store.MessageQuery) (ms []session.Message, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		ms, err = store.ReadMessages(r, w.change.id, q)
		return err
	})
	return ms, err
}

// writeChanged writes the messages that the events changed, and those that are new.
func (w *writer) writeChanged(ctx context.Context) error {
	from := w.change.from
	asked, prompts := int64(-1), []int64(nil)
	err := w.store.View(ctx, func(r store.Reader) error {
		asked, prompts = -1, nil
		oldest := func(seq int64) {
			if from < 0 || seq < from {
				from = seq
			}
		}
		// Find the changed turns and commands; a prompt is written by itself.
		for id := range w.change.messages {
			if id == "" {
				continue
			}
			found, ok, err := store.FindMessage(r, w.change.id, id)
			switch {
			case err != nil:
				return err
			case !ok:
			case found.Meta().Type == session.TypeUser || found.Meta().Type == session.TypeSynthetic:
				prompts = append(prompts, found.Meta().Seq)
			default:
				oldest(found.Meta().Seq)
			}
		}
		for _, call := range w.change.calls {
			if sh, ok, err := store.FindShell(r, w.change.id, call); err != nil {
				return err
			} else if ok {
				oldest(sh.Seq)
			}
		}
		if from < 0 {
			return nil
		}
		// What is written depends on the prompt before it.
		before, err := store.ReadMessages(r, w.change.id, store.MessageQuery{
			After: -1, Before: from, Type: session.TypeUser, Newest: true, Limit: 1,
		})
		if len(before) > 0 {
			asked = before[0].Meta().Seq
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, seq := range prompts {
		if from >= 0 && seq >= from {
			continue
		}
		if err := w.writePrompt(ctx, seq); err != nil {
			return err
		}
	}
	if from < 0 {
		return nil
	}
	return w.writeMessages(ctx, from, asked)
}

// writePrompt writes one prompt, with what follows it up to an answer.
func (w *writer) writePrompt(ctx context.Context, seq int64) error {
	ms, err := w.read(ctx, store.MessageQuery{After: seq - 1, Limit: chunk})
	if err != nil || len(ms) == 0 {
		return err
	}
	for _, v := range opencode.Render(w.session, ms, false)[:1] {
		err = w.writeMessage(v)
	}
	return err
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
	key := jsontree.Key{"message", jsontree.FileName(string(w.change.id)), name}
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
	return w.removeOthers(w.kept, "msg", "message", jsontree.FileName(string(w.change.id)))
}

func (w *writer) removeMessage(k jsontree.Key) error {
	if err := w.remove(k); err != nil {
		return err
	}
	return w.removeOthers(nil, "", "part", k[2])
}

// removeSession removes everything of a deleted session.
func (w *writer) removeSession() error {
	id := jsontree.FileName(string(w.change.id))
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

// readDiff finds the newest list of what the session changed.
func (w *writer) readDiff(ctx context.Context) error {
	for after := int64(-1); ; {
		var rows []store.EventRow
		err := w.store.View(ctx, func(r store.Reader) (err error) {
			rows, err = r.Events(w.change.id, after, chunk, session.KindDiffUpdated)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		newest := rows[len(rows)-1]
		after = newest.Seq
		d, err := session.DecodeData(newest.Kind, newest.Version, newest.Data)
		if err != nil {
			return &store.Damage{SessionID: w.change.id, Seq: newest.Seq, Detail: err.Error()}
		}
		w.change.diff, _ = d.(*session.DiffUpdated)
	}
}

// writeBeside writes what the session changed, and its todo list.
func (w *writer) writeBeside() error {
	id := jsontree.FileName(string(w.change.id))
	if d := w.change.diff; d != nil {
		if err := w.write(jsontree.Key{"session_diff", id}, opencode.FileDiffsOf(d.Session)); err != nil {
			return err
		}
	} else if w.change.whole {
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
