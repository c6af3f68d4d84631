package fork

import (
	"bytes"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// IsSource reports whether the session was forked, or is where a chain of forks began, and such a fork exists. Messages
// of the fork may name the session's files, which must then stay when it is deleted.
func IsSource(r store.Reader, id session.ID) (bool, error) {
	rows, err := r.RawSessions(store.SessionQuery{Archived: true})
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		i := bytes.Index(row.Data, []byte(`"fork":{"from":"ses_`))
		if i < 0 {
			continue
		}
		s, err := row.Session()
		if err != nil {
			return false, err
		}
		if s.Fork != nil && (s.Fork.From == id || s.Fork.Root == id) {
			return true, nil
		}
	}
	return false, nil
}
