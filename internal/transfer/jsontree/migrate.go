package jsontree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// migrationFile holds the number of the last migration.
const migrationFile = storageDir + "/migration"

// FindProject returns the id of the project of a working tree, "" if it is gone or in no repository.
type FindProject func(ctx context.Context, worktree string) (string, error)

// Migrate brings the tree to the newest form with OpenCode's two migrations, in place:
//
//   - 1 copies the trees of the projects into the shared one. A project whose working tree is gone stays as it is.
//   - 2 moves the changes of files out of the sessions, into session_diff.
//
// Each stores its number when it is done, so that it can be ended at any time and run again. A tree of a newer form is
// an error. Values that cannot be read stay where they are.
func (t *Tree) Migrate(ctx context.Context, find FindProject) error {
	return t.withLock(ctx, true, func() error {
		version, err := t.readVersion()
		if err != nil {
			return err
		}
		for ; version < newestMigration; version++ {
			switch version {
			case 0:
				err = t.copyProjects(ctx, find)
			case 1:
				err = t.moveDiffs(ctx)
			}
			if err == nil {
				err = t.replaceFile(migrationFile, []byte(strconv.Itoa(version+1)))
			}
			if err != nil {
				return fmt.Errorf("migration %d of the JSON files: %w", version+1, err)
			}
		}
		return nil
	})
}

// readVersion returns the number of the last migration, 0 without one.
func (t *Tree) readVersion() (int, error) {
	text, err := t.readFile(migrationFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || version < 0:
		return 0, fmt.Errorf("%s holds no number", migrationFile)
	case version > newestMigration:
		return 0, fmt.Errorf("%s is %d; %d is the newest that is known", migrationFile, version, newestMigration)
	}
	return version, nil
}

// copyProjects is migration 1.
func (t *Tree) copyProjects(ctx context.Context, find FindProject) error {
	projects, err := t.readDir("project")
	if err != nil {
		return err
	}
	for _, p := range projects {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		from := path.Join("project", p.Name(), "storage/session")
		// The project is that of the folder that its first message names.
		worktree := t.findRoot(path.Join(from, "message"))
		if worktree == "" {
			continue
		}
		id, err := find(ctx, worktree)
		if err != nil {
			return err
		}
		if !isFileName(id) {
			continue
		}
		if err := t.copyProject(ctx, from, id, worktree); err != nil {
			return err
		}
	}
	return nil
}

// copyProject copies the sessions of a project's own tree, and what belongs to them.
func (t *Tree) copyProject(ctx context.Context, from, id, worktree string) error {
	about, err := Encode(struct {
		ID       string `json:"id"`
		VCS      string `json:"vcs"`
		Worktree string `json:"worktree"`
	}{id, "git", worktree})
	if err == nil {
		err = t.replaceFile(path.Join(storageDir, "project", id+".json"), about)
	}
	if err != nil {
		return err
	}
	if err := t.copyFolder(path.Join(from, "info"), path.Join(storageDir, "session", id)); err != nil {
		return err
	}
	sessions, err := t.readDir(path.Join(from, "message"))
	for _, s := range sessions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err = errors.Join(err, t.copyFolder(path.Join(from, "message", s.Name()), path.Join(storageDir, "message", s.Name())))
		messages, listErr := t.readDir(path.Join(from, "part", s.Name()))
		for _, m := range messages {
			err = errors.Join(err, t.copyFolder(
				path.Join(from, "part", s.Name(), m.Name()), path.Join(storageDir, "part", m.Name()),
			))
		}
		if err = errors.Join(err, listErr); err != nil {
			return err
		}
	}
	return err
}

// copyFolder copies the values of a folder that can be read.
func (t *Tree) copyFolder(from, to string) error {
	files, err := t.readDir(from)
	for _, f := range files {
		if name, isJSON := strings.CutSuffix(f.Name(), ".json"); !isJSON || !isFileName(name) {
			continue
		}
		text, readErr := t.readFile(path.Join(from, f.Name()))
		if readErr != nil {
			continue
		}
		if err := t.replaceFile(path.Join(to, f.Name()), text); err != nil {
			return err
		}
	}
	return err
}

// findRoot returns the root of the working tree that the first message below a folder names.
func (t *Tree) findRoot(dir string) string {
	sessions, _ := t.readDir(dir)
	for _, s := range sessions {
		messages, _ := t.readDir(path.Join(dir, s.Name()))
		for _, m := range messages {
			text, err := t.readFile(path.Join(dir, s.Name(), m.Name()))
			if err != nil {
				continue
			}
			o, _ := foreign.ParseObject(text)
			inline := o.Object("metadata").Object("assistant") // the oldest form
			for _, at := range []foreign.Object{o, inline} {
				if root := at.Object("path").Text("root"); root != "" {
					return root
				}
			}
		}
	}
	return ""
}

// moveDiffs is migration 2.
func (t *Tree) moveDiffs(ctx context.Context) error {
	keys, err := t.list(Key{"session"}, collections["session"])
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		name, err := k.path()
		if err != nil {
			return err
		}
		text, err := t.readFile(name)
		if err != nil {
			continue
		}
		s, reason := foreign.ParseObject(text)
		diffs := s.Object("summary")["diffs"]
		if reason != "" || diffs.Kind() != '[' {
			continue
		}
		if err := t.moveDiff(k, s, diffs); err != nil {
			return err
		}
	}
	return nil
}

// moveDiff moves the changes of one session. They are written before the session, so that they are never in neither.
func (t *Tree) moveDiff(k Key, s foreign.Object, diffs jsontext.Value) error {
	var sum struct {
		Additions int64 `json:"additions"`
		Deletions int64 `json:"deletions"`
		Files     int   `json:"files"` // OpenCode's migration lost the number; its newer versions need it
	}
	for _, d := range s.Object("summary").Objects("diffs") {
		sum.Additions, sum.Deletions = sum.Additions+d.Int("additions"), sum.Deletions+d.Int("deletions")
		sum.Files++
	}
	summary, err := Encode(sum)
	if err != nil {
		return err
	}
	s["summary"] = summary
	at, err := Key{"session_diff", k[2]}.path()
	if err != nil {
		return err
	}
	name, err := k.path()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		v    any
	}{{at, diffs}, {name, s}} {
		text, err := Encode(f.v)
		if err == nil {
			err = t.replaceFile(f.name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
