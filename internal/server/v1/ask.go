package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func askRoutes() []Route {
	return []Route{
		{get, "/permission", "permission.list", (*API).permissions},
		{post, "/permission/{requestID}/reply", "permission.reply", (*API).reply},
		{post, "/session/{sessionID}/permissions/{permissionID}", "permission.respond", (*API).respond},
		{get, "/question", "question.list", (*API).questions},
		{post, "/question/{requestID}/reply", "question.reply", (*API).answer},
		{post, "/question/{requestID}/reject", "question.reject", (*API).dismiss},
	}
}

// asks returns what waits for a reply in the sessions of the directory.
func (a *API) asks(r *http.Request) ([]*store.AskRow, error) {
	l, err := a.locate(r)
	if err != nil {
		return nil, err
	}
	return view(r.Context(), a, func(rd store.Reader) (here []*store.AskRow, err error) {
		rows, err := rd.Asks(store.AskQuery{Pending: true})
		for _, row := range rows {
			s, ok, err := rd.Session(row.SessionID)
			if err != nil {
				return nil, err
			}
			if ok && s.Location.Directory == l.Directory {
				here = append(here, row)
			}
		}
		return here, err
	})
}

func (a *API) permissions(w http.ResponseWriter, r *http.Request) error {
	rows, err := a.asks(r)
	if err != nil {
		return err
	}
	out := []opencode.Permission{}
	for _, row := range rows {
		if !row.IsQuestion() {
			out = append(out, opencode.PermissionOf(row.SessionID, row.PendingAsk))
		}
	}
	return write(w, out)
}

func (a *API) questions(w http.ResponseWriter, r *http.Request) error {
	rows, err := a.asks(r)
	if err != nil {
		return err
	}
	out := []opencode.Question{}
	for _, row := range rows {
		if row.IsQuestion() {
			out = append(out, opencode.QuestionOf(row.SessionID, row.PendingAsk))
		}
	}
	return write(w, out)
}

// waiting returns the session whose ask of the kind waits for a reply: that of the path, where it names one.
func (a *API) waiting(r *http.Request, kind, id string) (session.ID, error) {
	return view(r.Context(), a, func(rd store.Reader) (session.ID, error) {
		of := sessionOf(r)
		if of != "" {
			if _, err := mustSession(rd, of); err != nil {
				return "", err
			}
		}
		row, ok, err := store.FindAsk(rd, session.AskID(id))
		if err == nil && (!ok || row.Reply != "" || row.IsQuestion() != (kind == "question") || of != "" && row.SessionID != of) {
			err = session.NotFound(kind, id)
		}
		if err != nil {
			return "", err
		}
		return row.SessionID, nil
	})
}

// permissionReply is the body of permission.reply.
type permissionReply struct {
	Reply   session.Reply `json:"reply"`
	Message string        `json:"message"`
}

func (a *API) reply(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[permissionReply](r)
	if err != nil {
		return err
	}
	if err := checkReply("reply", b.Reply); err != nil {
		return err
	}
	return a.replied(w, r, r.PathValue("requestID"), b)
}

type olderReply struct {
	Response session.Reply `json:"response"`
}

// respond is the reply of older clients.
func (a *API) respond(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[olderReply](r)
	if err != nil {
		return err
	}
	if err := checkReply("response", b.Response); err != nil {
		return err
	}
	return a.replied(w, r, r.PathValue("permissionID"), permissionReply{Reply: b.Response})
}

func checkReply(member string, reply session.Reply) error {
	switch reply {
	case session.ReplyOnce, session.ReplyAlways, session.ReplyReject:
		return nil
	default:
		return httpio.Invalid("body", member, "Expected \"once\" | \"always\" | \"reject\", got %q", httpio.Clip(string(reply), 40))
	}
}

func (a *API) replied(w http.ResponseWriter, r *http.Request, ask string, b permissionReply) error {
	id, err := a.waiting(r, "permission", ask)
	if err != nil {
		return err
	}
	if err := a.engine.Asks.Reply(r.Context(), id, session.AskID(ask), b.Reply, b.Message); err != nil {
		return httpio.WithPart("body", err)
	}
	return yes(w)
}

type answers struct {
	Answers [][]string `json:"answers"`
}

func (a *API) answer(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[answers](r)
	if err == nil && b.Answers == nil {
		err = httpio.Invalid("body", "answers", "answers is missing")
	}
	if err != nil {
		return err
	}
	ask := r.PathValue("requestID")
	id, err := a.waiting(r, "question", ask)
	if err != nil {
		return err
	}
	if err := a.engine.Asks.AnswerQuestions(r.Context(), id, session.AskID(ask), b.Answers); err != nil {
		return httpio.WithPart("body", err)
	}
	return yes(w)
}

func (a *API) dismiss(w http.ResponseWriter, r *http.Request) error {
	ask := r.PathValue("requestID")
	id, err := a.waiting(r, "question", ask)
	if err != nil {
		return err
	}
	if err := a.engine.Asks.DismissQuestions(r.Context(), id, session.AskID(ask)); err != nil {
		return err
	}
	return yes(w)
}
