package v1

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func messageRoutes() []Route {
	return []Route{
		{get, "/session/{sessionID}/message", "session.messages", (*API).messages},
		{get, "/session/{sessionID}/message/{messageID}", "session.message", (*API).message},
	}
}

func messageOf(r *http.Request) session.MessageID { return session.MessageID(r.PathValue("messageID")) }

// anchor is a message before which a page ends: a cursor is one in base64.
type anchor struct {
	ID   session.MessageID `json:"id"`
	Time int64             `json:"time"`
}

// messages lists all, or the newest before a cursor, in their order.
func (a *API) messages(w http.ResponseWriter, r *http.Request) error {
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Min: 0, Max: maxNumber})
	if err != nil {
		return err
	}
	before := r.URL.Query().Get("before")
	if before != "" && limit == 0 {
		return httpio.Invalid("query", "limit", "before needs a limit")
	}
	if limit == 0 {
		all, err := view(r.Context(), a, func(rd store.Reader) (whole, error) { return readWhole(rd, sessionOf(r)) })
		if err != nil {
			return err
		}
		return all.write(w)
	}
	var at anchor
	if before != "" {
		b, err := base64.RawURLEncoding.DecodeString(before)
		if err != nil || json.Unmarshal(b, &at) != nil || at.ID == "" {
			return httpio.Invalid("query", "before", "before must be a cursor of an earlier answer")
		}
	}
	p, err := view(r.Context(), a, func(rd store.Reader) (page, error) { return readPage(rd, sessionOf(r), int(limit), at.ID) })
	if err != nil {
		return err
	}
	if p.more {
		tellNext(w, r, limit, p.first)
	}
	return write(w, p.messages)
}

// tellNext says where the page before this one is.
func tellNext(w http.ResponseWriter, r *http.Request, limit int64, first anchor) {
	b, err := json.Marshal(first)
	if err != nil {
		return
	}
	cursor := base64.RawURLEncoding.EncodeToString(b)
	q := r.URL.Query()
	q.Set("before", cursor)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	q.Del("limit") // to stand first, as it does in OpenCode's
	q.Del("before")
	rest := q.Encode()
	if rest != "" {
		rest = "&" + rest
	}
	link := fmt.Sprintf(`<%s://%s%s?limit=%d&before=%s%s>; rel="next"`, scheme, r.Host, r.URL.EscapedPath(), limit, cursor, rest)
	w.Header().Set("Access-Control-Expose-Headers", "Link, X-Next-Cursor")
	w.Header().Set("Link", link)
	w.Header().Set("X-Next-Cursor", cursor)
}

// page is a part of a session's messages.
type page struct {
	messages []opencode.Message
	first    anchor
	more     bool // there are older ones
}

// readWaiting reads the prompts that wait to be promoted: the newest messages.
func readWaiting(rd store.Reader, id session.ID) ([]*session.Input, error) {
	waiting, err := store.PendingInputs(rd, id, "", 0)
	slices.SortStableFunc(waiting, func(x, y *session.Input) int { return int(x.AdmittedSeq - y.AdmittedSeq) })
	return waiting, err
}

// readPage reads the newest limit messages before one.
func readPage(rd store.Reader, id session.ID, limit int, before session.MessageID) (page, error) {
	s, err := mustSession(rd, id)
	if err != nil {
		return page{}, err
	}
	waiting, err := readWaiting(rd, id)
	if err != nil {
		return page{}, err
	}
	last, err := lastOf(rd, id, before, waiting)
	if err != nil {
		return page{}, err
	}
	waiting = last.waiting
	var history []session.Message
	if need := limit + 1 - len(waiting); need > 0 {
		if history, err = readBack(rd, id, last.until, need); err != nil {
			return page{}, err
		}
	}
	p := page{messages: opencode.Render(s, history, last.until > 0)}
	if last.half && len(p.messages) > 0 {
		p.messages = p.messages[:len(p.messages)-1]
	}
	for _, in := range waiting {
		p.messages = append(p.messages, opencode.PendingMessage(s, in))
	}
	return p.cut(limit), nil
}

// end is where a page ends.
type end struct {
	waiting []*session.Input // that are on it
	until   int64            // seq before which messages of the history are; 0: all are
	half    bool             // of the last one, a command, only what stands in front of its answer
}

// lastOf finds the end of the page before a message; "" is the end of the session.
func lastOf(rd store.Reader, id session.ID, before session.MessageID, waiting []*session.Input) (end, error) {
	if before == "" {
		return end{waiting: waiting}, nil
	}
	if i := slices.IndexFunc(waiting, func(in *session.Input) bool { return in.ID == before }); i >= 0 {
		return end{waiting: waiting[:i]}, nil
	}
	m, ok, err := store.FindMessage(rd, id, before)
	if err != nil || ok {
		return end{until: seqOf(m)}, err
	}
	sh, err := readShell(rd, id, before)
	if err == nil && sh == nil {
		err = httpio.Invalid("query", "before", "before must be a cursor of an earlier answer")
	}
	if err != nil {
		return end{}, err
	}
	return end{until: sh.Seq + 1, half: true}, nil
}

func seqOf(m session.Message) int64 {
	if m == nil {
		return 0
	}
	return m.Meta().Seq
}

// cut leaves the newest limit messages.
func (p page) cut(limit int) page {
	if len(p.messages) > limit {
		p.more = true
		p.messages = p.messages[len(p.messages)-limit:]
	}
	if len(p.messages) > 0 {
		p.first.ID, p.first.Time = opencode.IDAndTime(p.messages[0].Info)
	}
	return p
}

// readBack reads the newest n messages that V1 shows before the seq, in their order.
func readBack(rd store.Reader, id session.ID, until int64, n int) ([]session.Message, error) {
	var back []session.Message
	for {
		q := store.MessageQuery{After: -1, Before: until, Newest: true, Limit: n - len(back) + 8}
		ms, err := store.ReadMessages(rd, id, q)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if until = m.Meta().Seq; opencode.IsVisible(m) {
				back = append(back, m)
			}
		}
		if len(back) >= n || len(ms) < q.Limit || until == 0 {
			slices.Reverse(back)
			return back, nil
		}
	}
}

func (a *API) message(w http.ResponseWriter, r *http.Request) error {
	m, err := view(r.Context(), a, func(rd store.Reader) (opencode.Message, error) {
		return readMessage(rd, sessionOf(r), messageOf(r))
	})
	if err != nil {
		return err
	}
	return write(w, m)
}

func readMessage(rd store.Reader, id session.ID, m session.MessageID) (v opencode.Message, err error) {
	s, err := mustSession(rd, id)
	if err != nil {
		return v, err
	}
	in, waits, err := store.FindInput(rd, m)
	if err != nil {
		return v, err
	}
	if waits && in.SessionID == id && in.PromotedSeq == nil {
		return opencode.PendingMessage(s, in), nil
	}
	found, ok, err := store.FindMessage(rd, id, m)
	if err != nil {
		return v, err
	}
	if !ok {
		sh, err := readShell(rd, id, m)
		switch {
		case err != nil:
			return v, err
		case sh == nil:
			return v, session.NotFound("message", string(m))
		}
		return opencode.Render(s, []session.Message{sh}, false)[1], nil
	}
	if !opencode.IsVisible(found) {
		return v, session.NotFound("message", string(m))
	}
	behind, err := store.ReadMessages(rd, id, store.MessageQuery{After: found.Meta().Seq, Limit: 8})
	if err != nil {
		return v, err
	}
	return opencode.Render(s, append([]session.Message{found}, behind...), false)[0], nil
}
