package v2

import (
	"encoding/base64"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// The directions of a cursor.
const (
	nextPage     = "next"
	previousPage = "previous"
)

// The orders of a list.
const (
	orderAsc  = "asc"
	orderDesc = "desc"
)

// maxCursor bounds the bytes of a cursor.
const maxCursor = 8192

func isDirection(s string) bool { return s == nextPage || s == previousPage }

func isOrder(s string) bool { return s == orderAsc || s == orderDesc }

// orderOrDefault returns the order, newest first by default.
func orderOrDefault(order string) string {
	if order == "" {
		return orderDesc
	}
	return order
}

// encodeCursor encodes a cursor as base64url of JSON. Clients must not interpret it.
func encodeCursor(v any) string {
	b, err := httpio.Encode(v)
	if err != nil { // cannot happen: cursors contain strings and numbers from a query
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor decodes what encodeCursor encoded. It checks only the form.
func decodeCursor[T any](s string) (T, error) {
	var c T
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil || len(s) > maxCursor {
		return c, invalidCursor("the cursor is invalid; use cursor.next or cursor.previous of a response as it is")
	}
	return c, nil
}

func invalidCursor(message string) error {
	e := session.Errorf(session.CodeInvalid, "%s", message).At("cursor")
	e.Kind = api.KindCursor
	return e
}

var errCursorAndOrder = invalidCursor("cursor and order cannot be given together; the cursor holds the order")

// readHead returns the seq of the newest event of a session that must exist.
func readHead(rd store.Reader, id session.ID) (int64, error) {
	if _, err := store.FindSession(rd, id); err != nil {
		return 0, err
	}
	return rd.Head(id)
}

// checkCursor refuses a cursor that the log has not reached. It comes from other data, and its reader would wait for
// events that never come.
func checkCursor(after, newest int64) error {
	if after <= newest {
		return nil
	}
	e := session.Errorf(session.CodeConflict,
		"the cursor %d is ahead of the newest event, %d; it comes from other data", after, newest).At("after")
	e.Kind, e.ID = api.KindCursor, strconv.FormatInt(newest, 10)
	return e
}
