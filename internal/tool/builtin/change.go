package builtin

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

const maxEdited = 16 << 20 // bytes of a file that is changed

// state is a file as it is on disk.
type state struct {
	info fs.FileInfo // nil: there is no such file
	data []byte
}

// step is what happens to one file.
type step struct {
	place  place
	before state
	after  []byte
	gone   bool        // it shall not be there
	like   fs.FileInfo // whose mode and owner a new file gets; nil: nobody's
}

// diff is of the whole file, with OpenCode's header.
func (s *step) diff() string { return unifiedDiff(s.place.abs, s.before.data, s.after) }

// intent is what a tool wants to do to files: plan makes what they shall be, in place, out of what they are.
type intent struct {
	places []place // each file once
	plan   func(steps []*step) (summary, error)
}

// summary is what a change comes to, for those who decide and those who asked for it.
type summary struct {
	says  string // the result for the model
	diff  string // of all files
	files []patchedFile
}

// change is an intent against the files as they are.
type change struct {
	summary
	steps []*step
	seen  seenPrints // what the session knows of the files now
}

// changeFile changes the file at the path.
func (s *site) changeFile(ctx context.Context, call tool.Call, path string, plan func(before state) (after []byte, says string, err error)) (change, error) {
	p, err := s.locate(path)
	if err != nil {
		return change{}, err
	}
	return s.changeFiles(ctx, call, intent{places: []place{p}, plan: func(steps []*step) (summary, error) {
		only := steps[0]
		after, says, err := plan(only.before)
		only.after, only.gone = after, false
		return summary{says: says, diff: only.diff()}, err
	}})
}

// changeFiles changes files, all or none: it plans on what is there, asks with the diff, plans again on what is there
// by then, and writes if that makes the same change. The files are locked for both plans but not while the question is
// open, so that it does not hold up other sessions.
func (s *site) changeFiles(ctx context.Context, call tool.Call, in intent) (change, error) {
	if err := s.config.Files.recall(ctx, call); err != nil {
		return change{}, err
	}
	if err := askAll(ctx, call, s.beyond(in.places)); err != nil {
		return change{}, err
	}
	var shown, done change
	err := s.locked(ctx, in.places, func() (err error) {
		shown, err = s.plan(call.SessionID, in)
		return err
	})
	if err != nil {
		return change{}, s.explained(ctx, call, err)
	}
	if err := call.Ask(ctx, shown.request()); err != nil {
		return change{}, err
	}
	err = s.locked(ctx, in.places, func() (err error) {
		done, err = s.commit(call.SessionID, in, shown)
		return err
	})
	if err != nil {
		return change{}, s.explained(ctx, call, err)
	}
	done.says += done.otherNames()
	return done, nil
}

// otherNames says which files had more names than the one that now has another content.
func (c change) otherNames() string {
	says := ""
	for _, st := range c.steps {
		if n := links(st.before.info); n > 1 && !st.gone {
			says += fmt.Sprintf("\n%s had %d more %s (hard links), which keep the old content.", st.place.title(), n-1, plural(int(n-1), "name", "names"))
		}
	}
	return says
}

func (c change) request() tool.Request {
	r := tool.Request{Action: permission.Edit, Save: []string{"*"}}
	for _, st := range c.steps {
		r.Resources = append(r.Resources, st.place.resource())
	}
	if slices.ContainsFunc(r.Resources, func(path string) bool { return permission.Guarded(path) != "" }) { // which "*" does not mean
		r.Save = nil
		for _, path := range r.Resources {
			r.Save = append(r.Save, permission.Escape(path))
		}
	}
	meta := map[string]any{"filepath": c.paths(), "diff": shortDiff(c.diff)}
	if c.files != nil {
		meta["files"] = c.files
	}
	r.Metadata = object(meta)
	return r
}

// paths are the files for people: that of one call's own as it is, those of a patch as the patch has them.
func (c change) paths() string {
	var paths []string
	for _, f := range c.files {
		paths = append(paths, f.RelativePath)
	}
	if c.files == nil {
		for _, st := range c.steps {
			paths = append(paths, st.place.real)
		}
	}
	return strings.Join(paths, ", ")
}

// beyond are the requests for what may reach out of this place, each directory once: paths outside, and files that have a
// second name, which may be anywhere.
func (s *site) beyond(places []place) (out []tool.Request) {
	asked := map[string]bool{}
	for _, p := range places {
		if dir := p.directory(); !asked[dir] {
			asked[dir] = !p.inside()
			out = append(out, p.outside()...)
		}
		n := links(p.info)
		if !p.inside() || n < 2 {
			continue
		}
		out = append(out, tool.Request{
			Action: "external_directory", Resources: []string{p.real}, Save: []string{permission.Escape(p.real)},
			Metadata: object(map[string]any{"filepath": p.real, "parentDir": p.directory(), "links": n}),
		})
	}
	return out
}

// locked runs f while nobody else plans, changes or reads the files for a session.
func (s *site) locked(ctx context.Context, places []place, f func() error) error {
	var paths []string
	for _, p := range places {
		paths = append(paths, p.real)
	}
	slices.Sort(paths) // everybody takes them in this order, so that nobody waits for each other
	for _, path := range slices.Compact(paths) {
		unlock, err := s.config.Files.lock(ctx, path)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f()
}

// commit writes the change if it still is the one that was shown.
func (s *site) commit(id session.ID, in intent, shown change) (change, error) {
	now := intent{plan: in.plan}
	for _, p := range in.places {
		again, err := s.locate(p.abs)
		if err != nil || again.real != p.real {
			return change{}, moved(p.abs)
		}
		now.places = append(now.places, again)
	}
	done, err := s.plan(id, now)
	if err != nil {
		return change{}, err
	}
	for i, st := range done.steps {
		if was := shown.steps[i]; st.gone != was.gone || changedLines(st.diff()) != changedLines(was.diff()) {
			return change{}, tool.Failf("%s was changed while permission was asked for, so nothing was written. Read it again and repeat the call.", st.place.abs)
		}
	}
	infos, err := save(done.steps)
	if err != nil {
		return change{}, err
	}
	done.seen = seenPrints{}
	for i, st := range done.steps {
		if st.gone {
			s.config.Files.forget(id, st.place.real)
			done.seen[st.place.real] = ""
			continue
		}
		now := printOf(infos[i], digestOf(st.after))
		s.config.Files.saw(id, st.place.real, sight{now, st.after})
		done.seen[st.place.real] = now.String()
	}
	return done, nil
}

// plan reads the files and makes the change, unless one is not what the session saw last.
func (s *site) plan(id session.ID, in intent) (change, error) {
	var c change
	for _, p := range in.places {
		before, err := p.load()
		if err != nil {
			return change{}, err
		}
		if seen, ok := s.config.Files.known(id, p.real); ok && before.info != nil && !seen.print.same(printOf(before.info, digestOf(before.data))) {
			return change{}, &staleError{p, seen, before}
		}
		c.steps = append(c.steps, &step{place: p, before: before, after: before.data, gone: before.info == nil})
	}
	var err error
	c.summary, err = in.plan(c.steps)
	return c, err
}

// load reads a whole regular file, if there is one.
func (p place) load() (state, error) {
	switch {
	case p.info == nil:
		return state{}, nil
	case p.isDir():
		return state{}, tool.Failf("%s is a directory, not a file.", p.abs)
	}
	f, info, err := p.open()
	if err != nil {
		return state{}, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	if err != nil {
		return state{}, openFailure(p.abs, err)
	}
	if len(data) > maxEdited {
		return state{}, tool.Failf("%s is larger than %d MiB, the most that is changed with this tool. Use a command.", p.abs, maxEdited>>20)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return state{}, tool.Failf("%s is read-only (mode %v), so it is not changed.", p.abs, info.Mode().Perm())
	}
	return state{info, data}, nil
}
