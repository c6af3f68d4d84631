package admit

import (
	"bytes"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// OwnsUnusedFiles reports whether the files that calls of a session wrote can be removed: it does not exist any more, and
// no message of a fork may name them.
func OwnsUnusedFiles(r store.Reader, id session.ID, mayBeFork bool) (bool, error) {
	if _, found, err := r.Session(id); err != nil || found {
		return false, err
	}
	isSource, err := isForkSource(r, id, mayBeFork)
	return !isSource && err == nil, err
}

// isForkSource reports whether messages of a fork may name files of the session, which must then stay when it is deleted:
// the session was forked, or a chain of forks began with it. If the session may itself be a fork, it may be part of any
// chain whose links were deleted, so every fork of a fork counts.
func isForkSource(r store.Reader, id session.ID, mayBeFork bool) (bool, error) {
	rows, err := r.RawSessions(store.SessionQuery{Archived: true})
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		i := bytes.Index(row.Data, []byte(`"fork":{"from":"ses_`))
		if i < 0 {
			continue
		}
		other, err := row.Session()
		if err != nil {
			return false, err
		}
		f := other.Fork
		if f != nil && (f.From == id || f.Root == id || mayBeFork && f.Root != "") {
			return true, nil
		}
	}
	return false, nil
}
