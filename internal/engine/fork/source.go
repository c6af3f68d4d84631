package fork

import (
	"bytes"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// IsSource reports whether a fork of the session, or of a fork of it, exists: it may name the session's files.
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
