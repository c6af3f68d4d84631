package v2

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// No tool asks questions yet, so there is none to list or to answer; the answers are already those of the contract.

func (a *API) questions(w http.ResponseWriter, r *http.Request) error {
	_, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, sessionOf(r)) })
	if err != nil {
		return err
	}
	return data(w, []jsontext.Value{})
}

func (a *API) allQuestions(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(session.Location) ([]jsontext.Value, error) { return nil, nil })
}

func (a *API) answerQuestion(w http.ResponseWriter, r *http.Request) error {
	_, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, sessionOf(r)) })
	if err == nil {
		err = session.NotFound("question", r.PathValue("requestID"))
	}
	return err
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
