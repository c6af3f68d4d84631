package v1

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// messageHandlers reads and edits messages.
type messageHandlers struct{ *dependencies }

// messageCursor names the message before which a page ends. It is base64 of JSON on the wire.
type messageCursor struct {
	ID   session.MessageID `json:"id"`
	Time int64             `json:"time"`
}

// listMessages lists all messages in their order, or, with a limit, the newest ones before a cursor.
func (h messageHandlers) listMessages(ctx context.Context, in struct {
	sessionIn
	Limit  int64  `query:"limit"`
	Before string `query:"before"`
},
) (operation.Func[[]opencode.Message], error) {
	// Without a limit the response is the whole transcript.
	if in.Limit == 0 {
		if in.Before != "" {
			return nil, httpio.NewInvalid("query", "limit", "before requires limit")
		}
		t, err := store.Query(
			ctx,
			h.Store,
			func(rd store.Reader) (transcript, error) { return readTranscript(rd, in.SessionID) },
		)
		return func(w http.ResponseWriter, _ *http.Request) error { return t.write(w) }, err
	}
	// Decode the cursor before the store is read.
	var before messageCursor
	if in.Before != "" {
		b, err := base64.RawURLEncoding.DecodeString(in.Before)
		if err != nil || json.Unmarshal(b, &before) != nil || before.ID == "" {
			return nil, errMessageCursor
		}
	}
	// Read one page. The link to the next one is sent only if there are older messages.
	p, err := store.Query(ctx, h.Store, func(rd store.Reader) (messagePage, error) {
		return readMessagePage(rd, in.SessionID, int(in.Limit), before.ID)
	})
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.hasOlder {
			setNextPage(w, r, in.Limit, p.first)
		}
		return httpio.WriteJSON(w, http.StatusOK, p.messages)
	}, err
}

var errMessageCursor = httpio.NewInvalid("query", "before", "before must be a cursor of an earlier response")

// setNextPage sets the headers that link to the page before this one.
func setNextPage(w http.ResponseWriter, r *http.Request, limit int64, first messageCursor) {
	b, err := json.Marshal(first)
	if err != nil {
		return
	}
	cursor := base64.RawURLEncoding.EncodeToString(b)
	// The link is absolute and repeats the other parameters of the request.
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	q := r.URL.Query()
	q.Del("limit") // it comes first, as in OpenCode's links
	q.Del("before")
	rest := q.Encode()
	if rest != "" {
		rest = "&" + rest
	}
	link := fmt.Sprintf(
		`<%s://%s%s?limit=%d&before=%s%s>; rel="next"`,
		scheme,
		r.Host,
		r.URL.EscapedPath(),
		limit,
		cursor,
		rest,
	)
	w.Header().Set("Access-Control-Expose-Headers", "Link, X-Next-Cursor")
	w.Header().Set("Link", link)
	w.Header().Set("X-Next-Cursor", cursor)
}

func (h messageHandlers) get(ctx context.Context, in messageIn) (opencode.Message, error) {
	return store.Query(ctx, h.Store, func(rd store.Reader) (opencode.Message, error) {
		return readMessage(rd, in.SessionID, in.MessageID)
	})
}

// readMessage reads a message: a pending prompt, or a message of the history that V1 shows.
func readMessage(rd store.Reader, id session.ID, m session.MessageID) (v opencode.Message, err error) {
	s, err := store.FindSession(rd, id)
	if err != nil {
		return v, err
	}
	// A prompt that waits is no message yet.
	in, pending, err := store.FindInput(rd, m)
	if err != nil {
		return v, err
	}
	if pending && in.SessionID == id && in.PromotedSeq == nil {
		return opencode.PendingMessage(s, in), nil
	}
	for _, shown := range opencode.PendingMessages(s, nil) { // the open compaction
		if shownID(shown) == m {
			return shown, nil
		}
	}
	// V1 shows some rows as two messages, or with what follows them.
	row, err := findRow(rd, id, m)
	if err != nil {
		return v, err
	}
	if row == nil {
		return v, session.NotFound("message", string(m))
	}
	following, err := store.ReadMessages(rd, id, store.MessageQuery{After: row.Meta().Seq, Limit: 8})
	if err != nil {
		return v, err
	}
	for _, shown := range opencode.Render(s, append([]session.Message{row}, following...), false) {
		if shownID(shown) == m {
			return shown, nil
		}
	}
	return v, session.NotFound("message", string(m))
}

func shownID(m opencode.Message) session.MessageID {
	id, _ := opencode.IDAndTime(m.Info)
	return id
}

// findRow returns the message of the history that V1 shows under the id, nil without one. V1 shows a shell command of
// the user and a compaction as two messages, of which the row has one id.
func findRow(rd store.Reader, id session.ID, m session.MessageID) (session.Message, error) {
	stored, ok, err := store.FindMessage(rd, id, m)
	if err != nil || ok {
		return stored, err
	}
	sh, ok, err := store.FindShell(rd, id, string(m))
	if err != nil || ok && opencode.IsAnswerOf(sh, m) {
		return sh, err
	}
	c, ok, err := store.FindCompaction(rd, id, m)
	if err != nil || !ok {
		return nil, err
	}
	return c, nil
}

// messagePage is a part of a session's messages.
type messagePage struct {
	messages []opencode.Message
	first    messageCursor
	hasOlder bool
}

// readMessagePage reads the newest limit messages before one; "" is the end of the session.
func readMessagePage(rd store.Reader, id session.ID, limit int, before session.MessageID) (messagePage, error) {
	s, err := store.FindSession(rd, id)
	if err != nil {
		return messagePage{}, err
	}
	inputs, err := readPending(rd, id)
	if err != nil {
		return messagePage{}, err
	}
	end, err := findPageEnd(rd, s, before, opencode.PendingMessages(s, inputs))
	if err != nil {
		return messagePage{}, err
	}
	var history []session.Message
	if need := limit + 1 - len(end.pending); need > 0 {
		if history, err = readBackwards(rd, id, end.beforeSeq, need); err != nil {
			return messagePage{}, err
		}
	}
	p := messagePage{messages: opencode.Render(s, history, end.beforeSeq > 0)}
	if end.splitsPair && len(p.messages) > 0 {
		p.messages = p.messages[:len(p.messages)-1]
	}
	p.messages = append(p.messages, end.pending...)
	return p.keepNewest(limit), nil
}

// pageEnd is the end of a page.
type pageEnd struct {
	pending    []opencode.Message // of the page
	beforeSeq  int64              // messages of the history have a smaller seq; 0: all are on the page
	splitsPair bool               // the last row is shown as two messages, of which the page has the first only
}

// findPageEnd finds the end of the page before a message.
func findPageEnd(
	rd store.Reader, s *session.Session, before session.MessageID, pending []opencode.Message,
) (pageEnd, error) {
	if before == "" {
		return pageEnd{pending: pending}, nil
	}
	if i := slices.IndexFunc(pending, func(m opencode.Message) bool { return shownID(m) == before }); i >= 0 {
		return pageEnd{pending: pending[:i]}, nil
	}
	row, err := findRow(rd, s.ID, before)
	if err != nil {
		return pageEnd{}, err
	}
	if row == nil {
		return pageEnd{}, errMessageCursor
	}
	if shown := opencode.Render(s, []session.Message{row}, false); len(shown) > 1 && shownID(shown[1]) == before {
		return pageEnd{beforeSeq: row.Meta().Seq + 1, splitsPair: true}, nil
	}
	return pageEnd{beforeSeq: row.Meta().Seq}, nil
}

// keepNewest cuts the page to its newest limit messages.
func (p messagePage) keepNewest(limit int) messagePage {
	if len(p.messages) > limit {
		p.hasOlder = true
		p.messages = p.messages[len(p.messages)-limit:]
	}
	if len(p.messages) > 0 {
		p.first.ID, p.first.Time = opencode.IDAndTime(p.messages[0].Info)
	}
	return p
}

// readBackwards reads the newest n messages before a seq that V1 shows, in their order.
func readBackwards(rd store.Reader, id session.ID, before int64, n int) ([]session.Message, error) {
	var newestFirst []session.Message
	for {
		q := store.MessageQuery{After: -1, Before: before, Newest: true, Limit: n - len(newestFirst) + 8}
		ms, err := store.ReadMessages(rd, id, q)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if before = m.Meta().Seq; opencode.IsVisible(m) {
				newestFirst = append(newestFirst, m)
			}
		}
		if len(newestFirst) >= n || len(ms) < q.Limit || before == 0 {
			slices.Reverse(newestFirst)
			return newestFirst, nil
		}
	}
}
