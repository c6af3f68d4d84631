package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const maxEdited = 16 << 20 // bytes of a file that the tools change

// fileState is the content and the metadata of a file on disk.
type fileState struct {
	info fs.FileInfo // nil: the file does not exist
	data []byte
}

// fileStep is the change of one file.
type fileStep struct {
	path     workpath.Path
	before   fileState
	after    []byte
	removed  bool        // the file is removed
	template fs.FileInfo // whose mode and owner a new file gets; nil: the defaults
}

// formatDiff returns the diff of the whole file, with OpenCode's header.
func (s *fileStep) formatDiff() string { return unifiedDiff(s.path.Abs, s.before.data, s.after) }

// changePlan is a change that a tool wants to make. apply computes the new content of the files from the content in the
// steps.
type changePlan struct {
	paths []workpath.Path // each file once
	apply func(steps []*fileStep) (summary, error)
}

// summary describes a change in the permission request and in the result.
type summary struct {
	message string // the result for the model
	diff    string // of all files
	files   []patchedFile
}

// change is a changePlan applied to the files on disk.
type change struct {
	summary
	steps []*fileStep
	seen  fingerprints // the state of the files after the change
	// diagnostics are those of language servers by path.
	diagnostics map[string]jsontext.Value
	notes       []string // about language servers
}

// changeOne changes a single file.
func (s *fileTools) changeOne(
	ctx context.Context, call tool.Call, path string, plan func(before fileState) (after []byte, says string, err error),
) (change, error) {
	p, err := s.config.Paths.Resolve(path)
	if err != nil {
		return change{}, err
	}
	return s.changeAll(ctx, call, changePlan{paths: []workpath.Path{p}, apply: func(steps []*fileStep) (summary, error) {
		only := steps[0]
		after, says, err := plan(only.before)
		only.after, only.removed = after, false
		return summary{message: says, diff: only.formatDiff()}, err
	}})
}

// changeAll changes files, all or none. It plans the change on the files as they are, asks with the diff, plans again
// on the files as they are then, and writes them if both plans make the same change. The files are locked during both
// plans but not while the question is open, so that other sessions can go on.
func (s *fileTools) changeAll(ctx context.Context, call tool.Call, in changePlan) (change, error) {
	if err := s.config.Tracker.restoreSeen(ctx, call); err != nil {
		return change{}, err
	}
	if err := workpath.AskAll(ctx, call, outsideRequests(in.paths)); err != nil {
		return change{}, err
	}
	var shown, done change
	err := s.withLocks(ctx, in.paths, func() (err error) {
		shown, err = s.planChange(call.SessionID, in)
		return err
	})
	if err != nil {
		return change{}, s.explainStale(ctx, call, err)
	}
	if err := call.Ask(ctx, shown.permissionRequest()); err != nil {
		return change{}, err
	}
	err = s.withLocks(ctx, in.paths, func() (err error) {
		done, err = s.commitChange(ctx, call, in, shown)
		return err
	})
	if err != nil {
		return change{}, s.explainStale(ctx, call, err)
	}
	done.message += done.describeHardLinks()
	s.diagnose(ctx, call, &done)
	return done, nil
}

// describeHardLinks names the files that have hard links, which have the new content as well.
func (c change) describeHardLinks() string {
	says := ""
	for _, st := range c.steps {
		if n := fileattr.CountLinks(st.before.info); n > 1 && !st.removed {
			says += fmt.Sprintf(
				"\n%s has %d more %s (hard links), which have the new content as well.", st.path.Title(), n-1,
				workpath.ChoosePlural(int(n-1), "name", "names"),
			)
		}
	}
	return says
}

func (c change) permissionRequest() tool.Request {
	r := tool.Request{Action: permission.Edit, Save: []string{"*"}}
	for _, st := range c.steps {
		r.Resources = append(r.Resources, st.path.Resource())
	}
	// "*" does not cover protected files
	if slices.ContainsFunc(r.Resources, func(path string) bool { return permission.ProtectedName(path) != "" }) {
		r.Save = nil
		for _, path := range r.Resources {
			r.Save = append(r.Save, permission.Escape(path))
		}
	}
	meta := map[string]any{"filepath": c.displayPaths(), "diff": truncateDiff(c.diff)}
	if c.files != nil {
		meta["files"] = c.files
	}
	if meta["diff"] != c.diff { // a part of it
		meta["additions"], meta["deletions"] = countChangedLines(c.diff)
	}
	r.Metadata = tool.EncodeObject(meta)
	return r
}

// displayPaths returns the paths for the permission request.
func (c change) displayPaths() string {
	var paths []string
	for _, f := range c.files {
		paths = append(paths, f.RelativePath)
	}
	if c.files == nil {
		for _, st := range c.steps {
			paths = append(paths, st.path.Real)
		}
	}
	return strings.Join(paths, ", ")
}

// outsideRequests returns the permission requests for paths outside of the Location, one for each directory, and for
// files with hard links, which may be outside as well.
func outsideRequests(paths []workpath.Path) (out []tool.Request) {
	asked := map[string]bool{}
	for _, p := range paths {
		if dir := p.Dir(); !asked[dir] {
			asked[dir] = !p.IsInside()
			out = append(out, p.OutsideRequests()...)
		}
		n := fileattr.CountLinks(p.Info)
		if !p.IsInside() || n < 2 {
			continue
		}
		out = append(out, tool.Request{
			Action: "external_directory", Resources: []string{p.Real}, Save: []string{permission.Escape(p.Real)},
			Metadata: tool.EncodeObject(map[string]any{"filepath": p.Real, "parentDir": p.Dir(), "links": n}),
		})
	}
	return out
}

// withLocks runs f while no other call plans, changes or reads the files.
func (s *fileTools) withLocks(ctx context.Context, files []workpath.Path, f func() error) error {
	var paths []string
	for _, p := range files {
		paths = append(paths, p.Real)
	}
	slices.Sort(paths) // one order for all calls prevents deadlocks
	for _, path := range slices.Compact(paths) {
		unlock, err := s.config.Tracker.lockPath(ctx, path)
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

// commitChange plans the change again and writes it if it is the one that the permission request showed.
func (s *fileTools) commitChange(ctx context.Context, call tool.Call, in changePlan, shown change) (change, error) {
	// Resolve the paths again: a link may have been changed while a person was asked.
	id, now := call.SessionID, changePlan{apply: in.apply}
	for _, p := range in.paths {
		again, err := s.config.Paths.Resolve(p.Abs)
		if err != nil || again.Real != p.Real {
			return change{}, workpath.FailMoved(p.Abs)
		}
		now.paths = append(now.paths, again)
	}
	// Plan against the files as they are now. Only the plan that was shown has permission.
	done, err := s.planChange(id, now)
	if err != nil {
		return change{}, err
	}
	for i, st := range done.steps {
		if was := shown.steps[i]; st.removed != was.removed ||
			changedLines(st.formatDiff()) != changedLines(was.formatDiff()) {
			return change{}, tool.Failf(
				"%s was changed while permission was asked for, so nothing was written. Read it again and repeat the call.",
				st.path.Abs,
			)
		}
	}
	// Record first, then write: undo must know of every write, also after a crash.
	if err := done.recordWrites(ctx, call.Files); err != nil {
		return change{}, err
	}
	infos, err := saveAll(done.steps)
	if err != nil {
		return change{}, err
	}
	// The session has now seen the new contents, so it may change them again without a read.
	done.seen = fingerprints{}
	for i, st := range done.steps {
		if st.removed {
			s.config.Tracker.forgetSeen(id, st.path.Real)
			done.seen[st.path.Real] = ""
			continue
		}
		now := fingerprintOf(infos[i], computeDigest(st.after))
		s.config.Tracker.recordSeen(id, st.path.Real, snapshot{now, st.after})
		done.seen[st.path.Real] = now.String()
	}
	s.formatAll(ctx, call, &done)
	return done, nil
}

// recordWrites records the change before it is made.
func (c change) recordWrites(ctx context.Context, files tool.FileRecorder) error {
	if files == nil {
		return nil
	}
	var writes []tool.FileWrite
	for _, st := range c.steps {
		w := tool.FileWrite{Path: st.path.Real}
		mode := st.template
		if st.before.info != nil {
			mode = st.before.info
			w.Before = append([]byte{}, st.before.data...)
		}
		if !st.removed {
			w.After = append([]byte{}, st.after...)
		}
		w.Executable = mode != nil && mode.Mode()&0o111 != 0
		writes = append(writes, w)
	}
	if err := files.RecordWrites(ctx, writes); err != nil {
		return tool.Failf("nothing was written: the change could not be recorded: %v", err)
	}
	return nil
}

// planChange reads the files and plans the change. It fails if a file is not as the session saw it last.
func (s *fileTools) planChange(id session.ID, in changePlan) (change, error) {
	var c change
	for _, p := range in.paths {
		before, err := readState(p)
		if err != nil {
			return change{}, err
		}
		if seen, ok := s.config.Tracker.lastSeen(id, p.Real); ok && before.info != nil &&
			!seen.fingerprint.isSame(fingerprintOf(before.info, computeDigest(before.data))) {
			return change{}, &staleError{p, seen, before}
		}
		c.steps = append(c.steps, &fileStep{path: p, before: before, after: before.data, removed: before.info == nil})
	}
	var err error
	c.summary, err = in.apply(c.steps)
	return c, err
}

// readState reads a whole regular file. A missing file is an empty state.
func readState(p workpath.Path) (fileState, error) {
	switch {
	case p.Info == nil:
		return fileState{}, nil
	case p.IsDir():
		return fileState{}, tool.Failf("%s is a directory, not a file.", p.Abs)
	}
	f, info, err := p.Open()
	if err != nil {
		return fileState{}, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	if err != nil {
		return fileState{}, workpath.FailOpen(p.Abs, err)
	}
	if len(data) > maxEdited {
		return fileState{}, tool.Failf(
			"%s is larger than %d MiB, the most that is changed with this tool. Use a command.", p.Abs, maxEdited>>20,
		)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fileState{}, tool.Failf("%s is read-only (mode %v), so it is not changed.", p.Abs, info.Mode().Perm())
	}
	return fileState{info, data}, nil
}
