package store

import (
	"github.com/cairn-dev/cairn/internal/session"
)

// Loss is data that a salvage could not copy.
type Loss struct {
	SessionID session.ID // "" if unknown
	FromSeq   int64      // this event and all after it; -1 for other data
	Readable  int        // readable events after FromSeq that were left out, because a log has no gaps
	Detail    string
}
