package admin

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/sources"
)

// With --since a session and its subagents may be on different sides of the time. The report names subagents that come in
// without the session that started them, and those that do not come in with it.

// oldSession is a session that is older than --since.
type oldSession struct {
	file, id, parent string
	here             session.ID // the id of an earlier import, if there was one
}

// skipOld takes note of a session that is older than --since. It may have been imported earlier, as the parent of others.
func (in *foreignRun) skipOld(f sources.File, s *foreign.Session) {
	in.ids[s.ID] = transfer.ForeignID(s)
	in.old = append(in.old, oldSession{f.Path, s.ID, s.ParentID, in.ids[s.ID]})
}

// readOldFiles learns which sessions the files have that are older than --since, for those that wait for a parent. What
// cannot be read there is no problem of this import.
func (in *foreignRun) readOldFiles(ctx context.Context, files []sources.File) {
	for _, f := range files {
		_, _ = sources.Read(ctx, f, func(s foreign.Session) error {
			if _, isKnown := in.ids[s.ID]; !isKnown {
				in.skipOld(f, &s)
			}
			return context.Cause(ctx)
		})
	}
}

// noteParent names a session that came in without the one that started it.
func (in *foreignRun) noteParent(ctx context.Context, f sources.File, s *foreign.Session, did transfer.Outcome) {
	if s.ParentID == "" || did != transfer.Imported && did != transfer.Copied || in.imported[s.ParentID] ||
		in.isHere(ctx, in.ids[s.ParentID]) {
		return
	}
	in.note(f.Path, s.ID, "the session that started it, "+s.ParentID+
		", is not imported; it comes in as a session of its own")
}

// noteLeftOut names the subagents that are older than --since, of sessions that came in or are unchanged. Files of old
// ones are recognised by a folder with the name of the session.
func (in *foreignRun) noteLeftOut(ctx context.Context, files []sources.File) {
	for _, s := range in.old {
		if in.imported[s.parent] && !in.isHere(ctx, s.here) {
			in.note(s.file, s.id, "it is older than --since, and left out; the session that started it, "+s.parent+", comes in")
		}
	}
	for _, f := range files {
		for name := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(f.Path)), "/") {
			if in.imported[name] {
				in.note(f.Path, name, "the file has subagents of it, is older than --since, and was not read")
			}
		}
	}
}

// isHere reports whether there is a session with the id. One that cannot be looked up counts as one.
func (in *foreignRun) isHere(ctx context.Context, id session.ID) bool {
	if id == "" {
		return false
	}
	_, err := in.client.Session(ctx, id)
	return !errors.Is(err, &session.Error{Code: session.CodeNotFound})
}

func (in *foreignRun) note(file, id, reason string) {
	in.report.Notes = append(in.report.Notes, importProblem{File: file, Session: id, Reason: reason})
}
