// Package jsontree reads and writes the storage files of OpenCode 0.1 to 1.1: a tree of JSON files, one for each project,
// session, message and part.
//
//	storage/migration                            number of the last migration
//	storage/project/PROJECT.json                 id, worktree, vcs
//	storage/session/PROJECT/SESSION.json
//	storage/message/SESSION/MESSAGE.json
//	storage/part/MESSAGE/PART.json
//	storage/session_diff/SESSION.json            changes of files, since migration 2
//	storage/todo/SESSION.json
//	storage/share/SESSION.json                   not read: it is a secret of OpenCode's service
//
// Before migration 1 each project has a tree of its own, in which the oldest versions store parts within messages:
//
//	project/NAME/storage/session/info/SESSION.json
//	project/NAME/storage/session/message/SESSION/MESSAGE.json
//	project/NAME/storage/session/part/SESSION/MESSAGE/PART.json
//
// Read changes nothing: it reads a tree of an older form as OpenCode's migrations would leave it. Tree writes a tree of the
// newest form, and migrates an older one in place.
package jsontree

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodev1"
)

// MirrorMarker is the name of the file below storage that says that cairn writes the tree.
const MirrorMarker = ".cairn-mirror.json"

// maxFile is the length in bytes from which on a file is left out.
const maxFile = 64 << 20

// newestMigration is the last migration of OpenCode's files.
const newestMigration = 2

// Read gives the sessions of OpenCode's data folder, one at a time, and returns the problems that belong to no session.
// Its error is that of give, of the context, or of a folder that cannot be listed.
func Read(ctx context.Context, data fs.FS, give func(foreign.Session) error) ([]foreign.Problem, error) {
	t := &tree{
		data: data, give: give, sessions: map[string]bool{}, messages: map[uint64]bool{}, seed: maphash.MakeSeed(),
	}
	t.checkMigration()
	for _, read := range []func(context.Context) error{t.readShared, t.readProjects, t.findOrphans} {
		if err := read(ctx); err != nil {
			return t.problems, err
		}
	}
	return t.problems, nil
}

// tree is the reading of a data folder.
type tree struct {
	data     fs.FS
	give     func(foreign.Session) error
	sessions map[string]bool // that were given
	messages map[uint64]bool // digests of the ids of their messages
	seed     maphash.Seed
	problems []foreign.Problem
}

// layout names the files of a session.
type layout struct {
	info     string
	messages string                      // folder
	parts    func(message string) string // folder
}

func (t *tree) problem(row, reason string) {
	t.problems = append(t.problems, foreign.Problem{Row: row, Reason: reason})
}

// checkMigration notes a tree of an unknown version. It is read all the same.
func (t *tree) checkMigration() {
	text, err := fs.ReadFile(t.data, "storage/migration")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	n, numErr := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil:
		t.problem("storage/migration", explainError(err))
	case numErr != nil || n < 0:
		t.problem("storage/migration", "it is not a number")
	case n > newestMigration:
		t.problem("storage/migration",
			fmt.Sprintf("the files have version %d; %d is the newest that is known", n, newestMigration))
	}
}

// readShared reads the tree that all projects share. A session can be in the folders of two projects after OpenCode has
// moved it: the newer file counts.
func (t *tree) readShared(ctx context.Context) error {
	projects, err := listDir(t.data, "storage/session")
	if err != nil {
		return err
	}
	files := map[string][]string{} // by the id of the session
	var order []string
	for _, p := range projects {
		names, err := listDir(t.data, path.Join("storage/session", p.Name()))
		if err != nil {
			t.problem(path.Join("storage/session", p.Name()), explainError(err))
			continue
		}
		for _, f := range names {
			id, isJSON := strings.CutSuffix(f.Name(), ".json")
			if !isJSON {
				continue
			}
			if files[id] == nil {
				order = append(order, id)
			}
			files[id] = append(files[id], path.Join("storage/session", p.Name(), f.Name()))
		}
	}
	for _, id := range order {
		newest, others := t.chooseNewest(files[id])
		at := layout{newest, path.Join("storage/message", id), func(m string) string { return path.Join("storage/part", m) }}
		if err := t.readSession(ctx, id, at, others); err != nil {
			return err
		}
	}
	return nil
}

// chooseNewest returns the file of the session that was updated last, and the others.
func (t *tree) chooseNewest(files []string) (newest string, others []string) {
	if len(files) == 1 {
		return files[0], nil
	}
	at := -1
	var last int64 = -1
	for i, name := range files {
		o, reason := foreign.ParseObject(t.readFile(name).Data)
		if updated := o.Object("time").Int("updated"); reason == "" && updated > last {
			at, last = i, updated
		}
	}
	at = max(at, 0)
	others = append(append(others, files[:at]...), files[at+1:]...)
	return files[at], others
}

// readProjects reads the trees from before migration 1. Sessions that the migration has copied are read already.
func (t *tree) readProjects(ctx context.Context) error {
	projects, err := listDir(t.data, "project")
	if err != nil {
		return err
	}
	for _, p := range projects {
		root := path.Join("project", p.Name(), "storage/session")
		infos, err := listDir(t.data, path.Join(root, "info"))
		if err != nil {
			t.problem(path.Join(root, "info"), explainError(err))
			continue
		}
		for _, f := range infos {
			id, isJSON := strings.CutSuffix(f.Name(), ".json")
			if !isJSON || t.sessions[id] {
				continue
			}
			at := layout{path.Join(root, "info", f.Name()), path.Join(root, "message", id), func(m string) string {
				return path.Join(root, "part", id, m)
			}}
			if err := t.readSession(ctx, id, at, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// readSession gives one session. others are older files of the same session.
func (t *tree) readSession(ctx context.Context, id string, at layout, others []string) error {
	t.sessions[id] = true
	if foreign.CheckID(session.PrefixSession, id) != nil {
		t.problem(at.info, "its name is not the id of a session")
		return nil
	}
	b := opencodev1.NewBuilder(id)
	b.Info(t.readFile(at.info))
	for _, name := range others {
		b.CountRow()
		b.Problem(name, "", "another file of the session is newer")
	}
	b.Directory(t.findWorktree(at.info))
	if err := t.readMessages(ctx, b, at); err != nil {
		return err
	}
	t.readBeside(b, id)
	return t.give(b.Done())
}

// readMessages adds the messages with their parts, ordered by their ids.
func (t *tree) readMessages(ctx context.Context, b *opencodev1.Builder, at layout) error {
	files, err := listDir(t.data, at.messages)
	if err != nil {
		b.Problem(at.messages, "", explainError(err))
	}
	for _, f := range files {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		id, isJSON := strings.CutSuffix(f.Name(), ".json")
		if !isJSON {
			continue
		}
		t.messages[maphash.String(t.seed, id)] = true
		m := opencodev1.Message{Row: t.readFile(path.Join(at.messages, f.Name()))}
		m.ID = id
		parts, err := listDir(t.data, at.parts(id))
		if err != nil {
			b.Problem(at.parts(id), "", explainError(err))
		}
		for _, p := range parts {
			if partID, isJSON := strings.CutSuffix(p.Name(), ".json"); isJSON {
				row := t.readFile(path.Join(at.parts(id), p.Name()))
				row.ID = partID
				m.Parts = append(m.Parts, row)
			}
		}
		b.Add(m)
	}
	return nil
}

// findWorktree returns the folder of the project that the session's file belongs to, "" if it is not stored.
func (t *tree) findWorktree(info string) string {
	project := path.Base(path.Dir(info))
	row := t.readFile(path.Join("storage/project", project+".json"))
	o, _ := foreign.ParseObject(row.Data)
	if worktree := o.Text("worktree"); worktree != "/" { // the project of all folders without one
		return worktree
	}
	return ""
}

// readBeside adds what is stored beside a session: its todo list, and how much it changed.
func (t *tree) readBeside(b *opencodev1.Builder, id string) {
	if list, ok := t.readList(b, path.Join("storage/todo", id+".json")); ok {
		b.Todos(list)
	}
	if b.LacksSummary() {
		if list, ok := t.readList(b, path.Join("storage/session_diff", id+".json")); ok {
			b.Changes(list)
		}
	}
}

// readList reads a file that holds a list of objects, if there is one.
func (t *tree) readList(b *opencodev1.Builder, name string) ([]foreign.Object, bool) {
	if _, err := fs.Stat(t.data, name); errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	row := t.readFile(name)
	b.CountRow()
	wrapped, reason := row.Reason, ""
	if wrapped == "" {
		var o foreign.Object
		o, reason = foreign.ParseObject(append(append([]byte(`{"list":`), row.Data...), '}'))
		if reason == "" && o["list"].Kind() == '[' {
			return o.Objects("list"), true
		}
		wrapped = "it is not a list"
	}
	b.Problem(name, "", wrapped)
	return nil, false
}

// findOrphans notes messages without a session, and parts without a message, of the shared tree.
func (t *tree) findOrphans(ctx context.Context) error {
	sessions, err := listDir(t.data, "storage/message")
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if t.sessions[s.Name()] {
			continue
		}
		files, _ := listDir(t.data, path.Join("storage/message", s.Name()))
		t.problem(path.Join("storage/message", s.Name()),
			fmt.Sprintf("its session is missing; it has %d messages", len(files)))
		for _, f := range files {
			t.messages[maphash.String(t.seed, strings.TrimSuffix(f.Name(), ".json"))] = true
		}
	}
	messages, err := listDir(t.data, "storage/part")
	if err != nil {
		return err
	}
	parts, folders := 0, 0
	for _, m := range messages {
		if t.messages[maphash.String(t.seed, m.Name())] {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		files, _ := listDir(t.data, path.Join("storage/part", m.Name()))
		parts, folders = parts+len(files), folders+1
	}
	if folders > 0 {
		t.problem("storage/part", fmt.Sprintf("%d parts are of %d messages that are missing", parts, folders))
	}
	return nil
}
