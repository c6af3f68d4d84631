package v2

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/session"
)

// jobHandlers reads and controls the background commands of a session.
type jobHandlers struct{ *dependencies }

// jobIn is a request about one job.
type jobIn struct {
	sessionIn
	JobID session.JobID `path:"jobID"`
}

// list lists the running jobs and the latest finished ones, the oldest first.
func (h jobHandlers) list(ctx context.Context, in sessionIn) (api.Data[[]session.Job], error) {
	jobs, err := h.Jobs.List(ctx, in.SessionID)
	return newData(append([]session.Job{}, jobs...)), err
}

func (h jobHandlers) get(ctx context.Context, in jobIn) (api.Data[session.Job], error) {
	j, err := h.Jobs.Get(ctx, in.SessionID, in.JobID)
	return newData(j), err
}

// readLog returns a part of the job's output. A negative offset counts from the end.
func (h jobHandlers) readLog(ctx context.Context, in struct {
	jobIn
	After int64 `query:"after" min:"-9007199254740991"`
	Limit int64 `query:"limit" default:"1048576" min:"1" max:"1048576"`
},
) (api.Data[api.JobLog], error) {
	log, err := h.Jobs.ReadOutput(ctx, in.SessionID, in.JobID, task.Range{Offset: in.After, Bytes: int(in.Limit)})
	return newData(api.JobLog{Status: log.Job.Status, Text: string(log.Text), Next: log.Next}), err
}

// wait answers when the job has ended, or after a timeout in milliseconds with the job as it is.
func (h jobHandlers) wait(ctx context.Context, in struct {
	jobIn
	Timeout int64 `query:"timeout" default:"600000" max:"600000"`
},
) (api.Data[session.Job], error) {
	long, end := h.long.Start(ctx, "")
	defer end()
	j, err := h.Jobs.Wait(long, in.SessionID, in.JobID, time.Duration(in.Timeout)*time.Millisecond)
	return newData(j), err
}

func (h jobHandlers) cancel(ctx context.Context, in jobIn) (api.Data[session.Job], error) {
	j, err := h.Jobs.Cancel(ctx, in.SessionID, in.JobID)
	return newData(j), err
}
