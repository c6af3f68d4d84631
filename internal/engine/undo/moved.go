package undo

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxLeftNames bounds the files that a line of describeLeft names.
const maxLeftNames = 10

// stay is a time of the session in a directory.
type stay struct {
	start     int64 // position in the store
	directory string
	record    session.RecordID
	changes   bool // of the place before came along
}

// describeLeft returns lines for people about files that the session changed in another working tree before it moved, and
// that the planned revert does not have: it restores files of the session's working tree only. A file that the revert has
// is not named, though its change may stay at the old place, too: the move may have taken it along, and only the old place,
// which is not looked at, could tell.
func (r Reverter) describeLeft(
	ctx context.Context, id session.ID, out *session.Revert, found []CallChange,
) (lines []string, err error) {
	// Find where the session was; most never move.
	stays, err := listStays(ctx, r.Journal.Store, id)
	if err != nil || len(stays) < 2 || r.Files == nil {
		return nil, err
	}
	isPlanned := map[session.FilePath]bool{}
	for _, f := range out.Files {
		isPlanned[f.Path] = true
	}
	for _, f := range out.Kept {
		isPlanned[f.Path] = true
	}
	// Group the changes by the directory in which they were made.
	elsewhere := map[string][]CallChange{}
	for _, c := range found {
		directory := ""
		for _, s := range stays {
			if s.start <= c.start || directory == "" {
				directory = s.directory
			}
		}
		rel, err := filepath.Rel(r.Files.Root(), directory)
		if isHere := err == nil && filepath.IsLocal(rel); !isHere && !isPlanned[c.Path] {
			elsewhere[directory] = append(elsewhere[directory], c)
		}
	}
	for _, s := range stays {
		var names []string
		for _, f := range dropUnchanged(sumChanges(elsewhere[s.directory])) {
			names = append(names, string(f.Path))
		}
		delete(elsewhere, s.directory) // a session may return
		if more := len(names) - maxLeftNames; more > 0 {
			names = append(names[:maxLeftNames], fmt.Sprintf("and %d more", more))
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("before it moved, the session changed these in %s, where they stay: %s",
				s.directory, strings.Join(names, ", ")))
		}
	}
	return lines, nil
}

// FindEarlierPlace returns the directory and the record of the project in which a session was before its newest move, if
// that one took the uncommitted changes along; "" otherwise.
func FindEarlierPlace(ctx context.Context, v store.Viewer, id session.ID) (string, session.RecordID, error) {
	stays, err := listStays(ctx, v, id)
	if err != nil || len(stays) < 2 || !stays[len(stays)-1].changes {
		return "", "", err
	}
	before := stays[len(stays)-2]
	return before.directory, before.record, nil
}

// listStays returns where the session was, the first place first.
func listStays(ctx context.Context, v store.Viewer, id session.ID) (out []stay, err error) {
	events, err := store.Query(ctx, v, func(rd store.Reader) ([]session.Event, error) {
		return eventlog.DecodeAll(rd.Events(id, -1, 0, session.KindCreated, session.KindMoved))
	})
	for _, e := range events {
		switch d := e.Data.(type) {
		case *session.Created:
			out = append(out, stay{e.Position, d.Info.Location.Directory, d.Info.RecordID, false})
		case *session.Moved:
			out = append(out, stay{e.Position, d.Location.Directory, d.RecordID, d.Changes})
		}
	}
	return out, err
}
