package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/v2"
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
	// Record all of them, for cairn audit show and cairn doctor.
	trail := audit.New(w.dirs.Data)
	for _, a := range dropped {
		what := fmt.Sprintf("%s%s of %s: %s %s", droppedEntry, a.ID, a.DescribePlace(), a.Action, a.Resource)
		w.logger.Warn("a saved approval was dropped", "action", a.Action, "resource", a.Resource, "place", a.DescribePlace())
		if err := trail.AddEntry(ctx, audit.KindRules, what); err != nil {
			w.logger.Warn("the audit log could not be written", "error", err)
		}
	}
	// Name the first ones to the person.
	notifyUser(o, fmt.Sprintf("%s dropped: approvals now belong to one checkout, and these held in every copy of it or "+
		"in no repository; cairn audit show lists them, and their actions are asked for again",
		terminal.FormatPlural(len(dropped), "saved approval")))
	for _, a := range dropped[:min(len(dropped), maxNamedApprovals)] {
		notifyUser(o, fmt.Sprintf("dropped: %s %s (in %s)", a.Action, session.ClipText(a.Resource, 100),
			session.ClipText(a.DescribePlace(), 200)))
	}
}

// recordDropped records the approvals of a project that were deleted because something else is in its place.
func (w *owner) recordDropped(ctx context.Context, p store.Project, dropped []store.Approval) {
	trail := audit.New(w.dirs.Data)
	for _, a := range dropped {
		w.logger.Warn("a saved approval was dropped: another directory or repository is in the place of the project",
			"action", a.Action, "resource", a.Resource, "place", p.Path)
		what := fmt.Sprintf("%s%s of %s, which was replaced: %s %s", droppedEntry, a.ID, p.Path, a.Action, a.Resource)
		if err := trail.AddEntry(ctx, audit.KindRules, what); err != nil {
			w.logger.Warn("the audit log could not be written", "error", err)
		}
	}
}

// maxNamedApprovals bounds the dropped approvals that a message names.
const maxNamedApprovals = 5

// droppedEntry begins the entry in the audit log of an approval that moveApprovals dropped.
const droppedEntry = "drop the approval "

// droppedTime is how long doctor names dropped approvals.
const droppedTime = 30 * 24 * time.Hour

// examineDropped names the approvals that moveApprovals dropped lately.
func examineDropped(ctx context.Context, dirs config.Directories, now time.Time) []finding.Finding {
	report, err := audit.New(dirs.Data).Read(ctx)
	if err != nil { // audit.Trail.Examine reports it
		return nil
	}
	var names []string
	count := 0
	for _, e := range report.Entries {
		what, isDropped := strings.CutPrefix(e.What, droppedEntry)
		if !isDropped || e.Kind != audit.KindRules || now.Sub(time.UnixMilli(e.Time)) > droppedTime {
			continue
		}
		if count++; count <= maxNamedApprovals {
			_, place, _ := strings.Cut(what, " of ")
			names = append(names, terminal.FirstLine(place, 200))
		}
	}
	if count == 0 {
		return nil
	}
	detail := terminal.FormatPlural(count, "saved approval") + " dropped: " + strings.Join(names, "; ")
	if count > len(names) {
		detail += fmt.Sprintf("; %d more", count-len(names))
	}
	return []finding.Finding{{
		Level: finding.Note, What: "approvals", Detail: detail,
		Fix: "answer with always when cairn asks for these again; cairn audit show lists all of them",
	}}
}

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
