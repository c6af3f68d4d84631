package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// moveApprovals moves the saved approvals from before project records, and says once which ones were dropped. It does
// nothing if there are none, which costs one read.
func (w *owner) moveApprovals(ctx context.Context, o client.Options) {
	if w.store.DegradedError() != nil {
		return
	}
	dropped, err := w.locations.projects.MoveApprovals(ctx)
	if err != nil { // they hold nowhere
		w.logger.Warn("saved approvals of an earlier version could not be moved", "error", err)
		return
	}
	if len(dropped) == 0 {
		return
	}
	trail := audit.New(w.dirs.Data)
	for _, a := range dropped {
		w.logger.Warn("a saved approval was dropped", "action", a.Action, "resource", a.Resource, "project", a.RecordID)
		what := fmt.Sprintf("drop the approval %s of %s: %s %s", a.ID, a.RecordID, a.Action, a.Resource)
		if err := trail.AddEntry(ctx, audit.KindRules, what); err != nil {
			w.logger.Warn("the audit log could not be written", "error", err)
		}
	}
	const most = 5
	notify(o, fmt.Sprintf("%s dropped: approvals now belong to one checkout, and these held in every copy of it or "+
		"in no repository; cairn audit lists them, and their actions are asked for again",
		terminal.FormatPlural(len(dropped), "saved approval")))
	for i, a := range dropped {
		if i == most {
			break
		}
		notify(o, fmt.Sprintf("dropped: %s %s", a.Action, session.ClipText(a.Resource, 100)))
	}
}

// projectRecords implements v2.Projects.
type projectRecords struct{ locations *locationCache }

// ChangeRecord implements v2.Projects.
func (r projectRecords) ChangeRecord(
	ctx context.Context, id session.RecordID, c project.RecordChange,
) (store.Project, error) {
	p, err := r.locations.projects.ChangeRecord(ctx, id, c)
	if err == nil && c.Directory != nil {
		r.locations.forgetProjects()
	}
	return p, err
}

// ForgetRecord implements v2.Projects.
func (r projectRecords) ForgetRecord(ctx context.Context, id session.RecordID) error {
	err := r.locations.projects.ForgetRecord(ctx, id)
	r.locations.forgetProjects()
	return err
}

// forgetProjects makes the next use of each location find its project anew.
func (l *locationCache) forgetProjects() {
	l.mu.Lock()
	slots := slices.Collect(maps.Values(l.slots))
	l.mu.Unlock()
	for _, s := range slots {
		s.mu.Lock()
		s.setup = nil
		s.mu.Unlock()
	}
}

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
