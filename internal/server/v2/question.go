package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// questionHandlers lists and answers pending questions.
type questionHandlers struct{ *dependencies }

func selectQuestions(rows []*store.AskRow) []session.QuestionAsked {
	out := []session.QuestionAsked{}
	for _, row := range rows {
		if row.IsQuestion() {
			out = append(out, row.QuestionForm())
		}
	}
	return out
}

func (h questionHandlers) list(ctx context.Context, in sessionIn) (api.Data[[]session.QuestionAsked], error) {
	rows, err := h.Asks.List(ctx, in.SessionID)
	return newData(selectQuestions(rows)), err
}

// listAll lists the pending questions of the sessions of the location.
func (h questionHandlers) listAll(ctx context.Context, in locationIn) (api.AtLocation[[]session.QuestionAsked], error) {
	return listAt(ctx, h.dependencies, in.Location.Location,
		func(ctx context.Context, l session.Location) ([]session.QuestionAsked, error) {
			rows, err := store.PendingAsksAt(ctx, h.Store, l.Directory)
			return selectQuestions(rows), err
		})
}

func (h questionHandlers) answerQuestions(ctx context.Context, in struct {
	askIn
	Body api.Answers `body:"required"`
},
) (operation.None, error) {
	err := h.Asks.AnswerQuestions(ctx, in.SessionID, in.RequestID, in.Body.Answers)
	return operation.None{}, httpio.WithPart("body", err)
}

func (h questionHandlers) rejectQuestions(ctx context.Context, in askIn) (operation.None, error) {
	return operation.None{}, h.Asks.DismissQuestions(ctx, in.SessionID, in.RequestID)
}
