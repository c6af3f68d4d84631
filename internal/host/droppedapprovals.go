package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/location/config"
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
