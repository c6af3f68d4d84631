package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// JobLog is a piece of what a job has printed. Status is how the job stood before it was read: of one that had ended,
// nothing comes behind an empty piece.
type JobLog struct {
	Status session.JobStatus `json:"status"`
	Text   string            `json:"text"`
	Next   int64             `json:"next"` // where the next piece begins, in bytes
}

// JobClient calls the operations on background jobs.
type JobClient struct{ client *Client }

// Jobs returns the operations on background jobs.
func (c *Client) Jobs() JobClient { return JobClient{c} }

// List returns what runs, and ran lately, in the background of the session, oldest first.
func (g JobClient) List(ctx context.Context, id session.ID) ([]session.Job, error) {
	out, err := get[Data[[]session.Job]](ctx, g.client, apiPath("session", string(id), "job"), nil)
	return out.Data, err
}

// Log returns a piece of what the job has printed, from the offset on; a negative one counts from the end.
func (g JobClient) Log(ctx context.Context, id session.ID, job session.JobID, after int64) (JobLog, error) {
	q := url.Values{"after": {strconv.FormatInt(after, 10)}}
	out, err := get[Data[JobLog]](ctx, g.client, apiPath("session", string(id), "job", string(job), "log"), q)
	return out.Data, err
}

// Wait returns the job once it has ended, or as it is after d, ten minutes at most.
func (g JobClient) Wait(ctx context.Context, id session.ID, job session.JobID, d time.Duration) (session.Job, error) {
	var out Data[session.Job]
	q := url.Values{"timeout": {strconv.FormatInt(d.Milliseconds(), 10)}}
	err := g.client.sendCall(
		ctx,
		call{
			method: http.MethodPost,
			path:   apiPath("session", string(id), "job", string(job), "wait"),
			query:  q,
			out:    &out,
		},
	)
	return out.Data, err
}

// Cancel ends the job with everything it started, and returns it when that is recorded.
func (g JobClient) Cancel(ctx context.Context, id session.ID, job session.JobID) (session.Job, error) {
	var out Data[session.Job]
	err := g.client.sendCall(
		ctx,
		call{method: http.MethodPost, path: apiPath("session", string(id), "job", string(job), "cancel"), out: &out},
	)
	return out.Data, err
}
