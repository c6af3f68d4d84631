package compaction

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Preview describes a compaction that has not been made.
type Preview struct {
	*Choice
	Record         *session.Record
	Writer         *scope.Model
	SummaryRequest SummaryRequest
}

// PreviewCompaction returns what a compaction would do for the request now. It is nil if there is nothing to summarise.
// It asks no model and changes nothing.
func (q *FitRequest) PreviewCompaction(
	ctx context.Context, s store.Viewer, request *session.CompactionRequest,
) (*Preview, error) {
	choice := q.selectMessages()
	if choice.IsEmpty() {
		return nil, nil
	}
	writer, err := q.findWriter(&session.Input{Compaction: request})
	if err != nil {
		return nil, err
	}
	record, err := q.readRecord(ctx, s, choice)
	if err != nil {
		return nil, err
	}
	toWriter := q.newSummaryRequest(writer, choice, record)
	toWriter.Instructions = request.Instructions
	return &Preview{Choice: choice, Record: record, Writer: writer, SummaryRequest: toWriter}, nil
}

// EstimateMessages estimates the tokens of messages as the turn's model reads them.
func (q *FitRequest) EstimateMessages(ms ...session.Message) int64 { return q.measureMessages(ms...) }

// CompactionLimit returns the size of a request from which on a compaction comes first, 0 if it never does.
func (q *FitRequest) CompactionLimit() int64 {
	if !q.Scope.Compaction.Auto {
		return 0
	}
	return q.Model.Window.RequestLimit(q.Scope.Compaction.Reserved)
}
