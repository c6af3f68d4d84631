package host

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// announceProject tells the streams of both contracts that the record of a project has changed.
func (w *owner) announceProject(ctx context.Context, p store.Project) {
	w.v1.AnnounceProject(p)
	notice, err := v2.NewProjectNotice(ctx, w.store, p)
	if err != nil {
		w.logger.Warn("a change of a project could not be announced", "project", p.ID, "error", err)
		return
	}
	w.log.Notify(notice)
}

// projectRecords implements v2.Projects.
type projectRecords struct{ locations *locationCache }

// ChangeRecord implements v2.Projects.
func (r projectRecords) ChangeRecord(
	ctx context.Context, id session.RecordID, c project.RecordChange,
) (project.ChangedRecord, error) {
	changed, err := r.locations.projects.ChangeRecord(ctx, id, c)
	if c.Directory != nil && !c.DryRun && mayHaveChanged(err) {
		r.locations.forgetProjects()
	}
	return changed, err
}

// ForgetRecord implements v2.Projects.
func (r projectRecords) ForgetRecord(ctx context.Context, id session.RecordID) error {
	err := r.locations.projects.ForgetRecord(ctx, id)
	if mayHaveChanged(err) {
		r.locations.forgetProjects()
	}
	return err
}

// renamedPause is the least time between two looks for renamed directories.
const renamedPause = time.Minute

// FollowRenamed implements v2.Projects. It does nothing for renamedPause after the last time: clients list the projects
// often, and directories that are gone for good are looked for each time.
func (r projectRecords) FollowRenamed(ctx context.Context) {
	l := r.locations
	last, now := l.renamedAt.Load(), time.Now().UnixMilli()
	if now-last < renamedPause.Milliseconds() || !l.renamedAt.CompareAndSwap(last, now) {
		return
	}
	if err := l.projects.FollowRenamed(ctx); err != nil && ctx.Err() == nil {
		l.logger.Warn("directories that were renamed could not be found", "error", err)
	}
}

// mayHaveChanged reports whether a change of the store with this error may have been made. A refused one, such as of an
// unknown record, was not; after an error of the store it is not known.
func mayHaveChanged(err error) bool {
	_, isRefused := errors.AsType[*session.Error](err)
	return !isRefused
}

// forgetProjects makes the next use of each location find its project anew. It does not wait for setups that are built.
func (l *locationCache) forgetProjects() { l.changes.Add(1) }

// sweepProjects deletes the records of directories that are gone and have nothing.
func (w *owner) sweepProjects(ctx context.Context) {
	if w.store.DegradedError() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := w.locations.projects.Prune(ctx); err != nil && ctx.Err() == nil {
		w.logger.Warn("records of missing directories could not be removed", "error", err)
	}
}
