package follow

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxResumes bounds how often idle work is resumed without progress.
const maxResumes = 3

// ErrStopped says that the session stopped before the work was done, and could not be resumed.
var ErrStopped = errors.New("the session stopped before the work was done")

// Work is the work on one prompt, which its Watch follows. It is of one goroutine.
type Work struct {
	Client   *api.Client
	ID       session.ID
	Request  api.PromptRequest // with an id
	Progress *Progress

	resumes int   // how often the work was resumed without progress
	resumed int64 // the newest event then
}

// IsDone reports whether an idle session has nothing left to do for the prompt.
func (w *Work) IsDone() bool {
	isResumedInVain := w.resumes >= maxResumes && w.resumed == w.Progress.Cursor
	return w.Progress.IsComplete() && (!w.Progress.HasTasks() || isResumedInVain)
}

// Resume has the watch continue work that its process left: with the same prompt again, which wakes its session; if that
// changed nothing, the session is resumed. After maxResumes calls without progress it returns ErrStopped.
func (w *Work) Resume(watch *Watch) error {
	if w.resumed != w.Progress.Cursor {
		w.resumes, w.resumed = 0, w.Progress.Cursor
	}
	if w.resumes++; w.resumes > maxResumes {
		return ErrStopped
	}
	isPromptTried := w.Progress.Begun && w.resumes > 1 || w.resumes == maxResumes // the last one hears why the work ends
	if isPromptTried && !w.Progress.IsComplete() {
		watch.Continue(w.Request.ID, func(ctx context.Context) error { return w.Client.Resume(ctx, w.ID) })
	} else {
		watch.Continue(w.Request.ID, w.sendAgain)
	}
	return nil
}

// sendAgain sends the same prompt.
func (w *Work) sendAgain(ctx context.Context) error {
	_, err := w.Client.Prompt(ctx, w.ID, w.Request)
	if errors.Is(err, &session.Error{Code: session.CodeConflict}) { // it was edited or redirected since
		return nil
	}
	return err
}
