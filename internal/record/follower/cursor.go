package follower

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// cursor is the position of the last event that a consumer has taken. Event is its id, by which another store, such as
// one that was restored from a copy, is recognised; "" if there is no event at the position.
type cursor struct {
	Position int64           `json:"position"`
	Event    session.EventID `json:"event,omitzero"`
	// Rebuild is the progress of a rebuild that began at the position and has not ended; "" if there is none.
	Rebuild string `json:"rebuild,omitzero"`
}

// maxCursor bounds the file of a cursor, in bytes.
const maxCursor = 4096

// errNoCursor means that there is no file, or one that holds no cursor.
var errNoCursor = errors.New("no cursor")

func readCursor(file string) (*cursor, error) {
	text, err := statefile.ReadRegular(file, maxCursor)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoCursor
	case err != nil:
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	c := new(cursor)
	if err := json.Unmarshal(text, c); err != nil || c.Position < 0 {
		return nil, errNoCursor
	}
	return c, nil
}

func writeCursor(file string, c cursor) error {
	text, err := json.Marshal(c, json.Deterministic(true))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = statefile.Replace(file, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the cursor: %w", err)
	}
	return nil
}

// removeCursor removes the file, so that the consumer is rebuilt, also by another process.
func removeCursor(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the cursor: %w", err)
	}
	return nil
}

// checkCursor returns the cursor of the newest event, and whether a stored cursor, which may be nil, fits the store: it
// is not behind the newest event, and the event at its position is the same one, if it is there.
func checkCursor(ctx context.Context, s store.Viewer, stored *cursor) (head cursor, fits bool, err error) {
	err = s.View(ctx, func(r store.Reader) (err error) {
		if head.Position, err = r.Head(""); err != nil {
			return err
		}
		if head.Event, err = eventAt(r, head.Position); err != nil || stored == nil || stored.Position > head.Position {
			fits = false
			return err
		}
		there, err := eventAt(r, stored.Position)
		fits = there == "" || stored.Event == "" || there == stored.Event
		return err
	})
	return head, fits && err == nil, err
}

// eventAt returns the id of the event at the position, "" if there is none.
func eventAt(r store.Reader, position int64) (session.EventID, error) {
	if position == 0 {
		return "", nil
	}
	rows, err := r.Events("", position-1, 1)
	if err != nil || len(rows) == 0 || rows[0].Position != position {
		return "", err
	}
	return rows[0].ID, nil
}

// ReadPosition returns the position up to which the consumer of a cursor's file has the events, and whether a rebuild is
// under way. ok is false without a cursor.
func ReadPosition(file string) (position int64, isRebuilding, ok bool) {
	c, err := readCursor(file)
	if err != nil {
		return 0, false, false
	}
	return c.Position, c.Rebuild != "", true
}
