package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"znkr.io/diff/textdiff"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	maxEdited = 16 << 20 // bytes of a file that is changed
	maxDiff   = 64 << 10 // bytes of a diff that is shown
)

// state is a file as it is on disk.
type state struct {
	info fs.FileInfo // nil: there is no such file
	data []byte
}

// change is what a tool wants to do to a file.
type change struct {
	before state
	after  []byte
	says   string // the result for the model
	diff   string // of the whole file, with OpenCode's header
}

// planner makes the content that a file shall have out of what it has.
type planner func(before state) (after []byte, says string, err error)

// changeFile changes the file at the path: it plans on what is there, asks with the diff, plans again on what is there
// by then, and writes if that makes the same change. The file is locked for both plans but not while the question is
// open, so that it does not hold up other sessions.
func (s *site) changeFile(ctx context.Context, call tool.Call, path string, plan planner) (change, place, error) {
	p, err := s.locate(path)
	if err != nil {
		return change{}, p, err
	}
	if err := s.askOutside(ctx, call, p); err != nil {
		return change{}, p, err
	}
	var shown, done change
	err = s.locked(ctx, p, func() error {
		shown, err = s.plan(call.SessionID, p, plan)
		return err
	})
	if err != nil {
		return change{}, p, err
	}
	err = call.Ask(ctx, tool.Request{
		Action: "edit", Resources: []string{p.resource()}, Save: []string{"*"},
		Metadata: object(map[string]string{"filepath": p.real, "diff": shortDiff(shown.diff)}),
	})
	if err != nil {
		return change{}, p, err
	}
	err = s.locked(ctx, p, func() error {
		done, err = s.commit(call.SessionID, p, plan, shown)
		return err
	})
	return done, p, err
}

// locked runs f while nobody else plans, changes or reads the file for a session.
func (s *site) locked(ctx context.Context, p place, f func() error) error {
	unlock, err := s.config.Files.lock(ctx, p.real)
	if err != nil {
		return err
	}
	defer unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f()
}

// commit writes the change if it still is the one that was shown.
func (s *site) commit(id session.ID, p place, plan planner, shown change) (change, error) {
	now, err := s.locate(p.abs)
	if err != nil || now.real != p.real {
		return change{}, moved(p.abs)
	}
	done, err := s.plan(id, now, plan)
	if err != nil {
		return change{}, err
	}
	if changedLines(done.diff) != changedLines(shown.diff) {
		return change{}, tool.Failf("%s was changed while permission was asked for, so nothing was written. Read it again and repeat the call.", p.abs)
	}
	info, err := now.save(done.after, done.before.info)
	if err != nil {
		return change{}, err
	}
	s.config.Files.saw(id, p.real, printOf(info, sha256.Sum256(done.after)))
	return done, nil
}

// plan reads the file and makes the change, unless the file is not what the session saw last.
func (s *site) plan(id session.ID, p place, plan planner) (change, error) {
	before, err := p.load()
	if err != nil {
		return change{}, err
	}
	if seen, ok := s.config.Files.known(id, p.real); ok && before.info != nil {
		if !seen.same(printOf(before.info, sha256.Sum256(before.data))) {
			return change{}, tool.Failf("%s was changed (at %s) since you last read it, so nothing was written. Read it again, then repeat the call.",
				p.abs, before.info.ModTime().Format("15:04:05"))
		}
	}
	after, says, err := plan(before)
	if err != nil {
		return change{}, err
	}
	return change{before, after, says, unifiedDiff(p.abs, before.data, after)}, nil
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

// unifiedDiff is the change in the form that OpenCode's clients show.
func unifiedDiff(path string, before, after []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Index: %s\n%s\n--- %s\n+++ %s\n", path, strings.Repeat("=", 67), path, path)
	if !bytes.Equal(before, after) {
		b.Write(textdiff.Unified(before, after))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// body is a diff without its header.
func body(diff string) string {
	_, rest, _ := strings.Cut(diff, "\n+++ ")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// changedLines is what a diff takes away and adds, wherever that is.
func changedLines(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(body(diff)) {
		if line[0] == '+' || line[0] == '-' {
			b.WriteString(line)
		}
	}
	return b.String()
}

func countLines(diff string) (added, removed int) {
	for line := range strings.Lines(body(diff)) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// shortDiff is as much of a diff as is shown, cut at a line.
func shortDiff(diff string) string {
	if len(diff) <= maxDiff {
		return diff
	}
	cut := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
	added, removed := countLines(diff)
	return diff[:cut] + fmt.Sprintf("\\ The rest of this diff is not shown; in all %d lines are added and %d removed.\n", added, removed)
}
