package v2

import (
	"net/http"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine/job"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	maxJobWait = 10 * time.Minute
	maxJobLog  = 1 << 20 // bytes of one piece
)

func jobOf(r *http.Request) session.JobID { return session.JobID(r.PathValue("jobID")) }

// jobs lists what runs, and ran lately, in the background of the session, oldest first.
func (a *API) jobs(w http.ResponseWriter, r *http.Request) error {
	jobs, err := a.engine.Jobs.List(r.Context(), sessionOf(r))
	if err != nil {
		return err
	}
	return data(w, append([]session.Job{}, jobs...))
}

func (a *API) job(w http.ResponseWriter, r *http.Request) error {
	job, err := a.engine.Jobs.Get(r.Context(), sessionOf(r), jobOf(r))
	if err != nil {
		return err
	}
	return data(w, job)
}

// jobLog gives a piece of what the job has printed.
func (a *API) jobLog(w http.ResponseWriter, r *http.Request) error {
	after, err := httpio.ReadNumber(r, "after", httpio.Range{Min: -maxSeq, Max: maxSeq})
	if err != nil {
		return err
	}
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: maxJobLog, Min: 1, Max: maxJobLog})
	if err != nil {
		return err
	}
	log, err := a.engine.Jobs.ReadOutput(r.Context(), sessionOf(r), jobOf(r), job.Range{Offset: after, Bytes: int(limit)})
	if err != nil {
		return err
	}
	return data(w, api.JobLog{Status: log.Job.Status, Text: string(log.Text), Next: log.Next})
}

// waitJob answers when the job has ended, or with the job as it is after a while.
func (a *API) waitJob(w http.ResponseWriter, r *http.Request) error {
	ms, err := httpio.ReadNumber(r, "timeout", httpio.Range{Default: maxJobWait.Milliseconds(), Max: maxJobWait.Milliseconds()})
	if err != nil {
		return err
	}
	ctx, end := a.long.Start(r, "")
	defer end()
	job, err := a.engine.Jobs.Wait(ctx, sessionOf(r), jobOf(r), time.Duration(ms)*time.Millisecond)
	if err != nil {
		return err
	}
	return data(w, job)
}

func (a *API) cancelJob(w http.ResponseWriter, r *http.Request) error {
	job, err := a.engine.Jobs.Cancel(r.Context(), sessionOf(r), jobOf(r))
	if err != nil {
		return err
	}
	return data(w, job)
}
