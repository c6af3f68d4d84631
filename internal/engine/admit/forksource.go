package admit

import (
	"bytes"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// IsForkSource reports whether messages of a fork may name files of the session, which must then stay when it is deleted:
// the session was forked, or a chain of forks began with it. If the session may itself be a fork, it may be part of any
// chain whose links were deleted, so every fork of a fork counts.
func IsForkSource(r store.Reader, id session.ID, mayBeFork bool) (bool, error) {
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
