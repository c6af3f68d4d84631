package v2

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// isQuestion reports whether the ask wants answers, not a permission.
func isQuestion(row *store.AskRow) bool { return row.IsQuestion() }

func shownQuestions(rows []*store.AskRow) []session.QuestionAsked {
	out := []session.QuestionAsked{}
	for _, row := range rows {
		if isQuestion(row) {
			out = append(out, row.QuestionForm())
		}
	}
	return out
}

func (a *API) questions(w http.ResponseWriter, r *http.Request) error {
	rows, err := a.engine.Asks.List(r.Context(), sessionOf(r))
	if err != nil {
		return err
	}
	return data(w, shownQuestions(rows))
}

// allQuestions lists what waits for answers in the sessions of the location.
func (a *API) allQuestions(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(l session.Location) ([]session.QuestionAsked, error) {
		rows, err := view(r.Context(), a, func(rd store.Reader) ([]*store.AskRow, error) { return asksAt(rd, l.Directory) })
		return shownQuestions(rows), err
	})
}

func (a *API) answerQuestion(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[api.Answers](r)
	if err == nil {
		err = httpio.WithPart("body", a.engine.Asks.AnswerQuestions(r.Context(), sessionOf(r), session.AskID(r.PathValue("requestID")), b.Answers))
	}
	if err != nil {
		return err
	}
	return done(w)
}

func (a *API) rejectQuestion(w http.ResponseWriter, r *http.Request) error {
	if err := a.engine.Asks.DismissQuestions(r.Context(), sessionOf(r), session.AskID(r.PathValue("requestID"))); err != nil {
		return err
	}
	return done(w)
}

// located answers with the location of the request and a list of what f finds there.
func located[T any](a *API, w http.ResponseWriter, r *http.Request, f func(session.Location) ([]T, error)) error {
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	info, err := a.locations.Location(r.Context(), l)
	if err != nil {
		return err
	}
	list, err := f(l)
	if err != nil {
		return err
	}
	return write(w, api.Located[[]T]{Location: info, Data: list})
}
