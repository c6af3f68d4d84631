package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/sources"
)

// foreignOptions are the flags of `cairn import --from`.
type foreignOptions struct {
	from   string
	since  time.Time // only sessions that were changed since
	into   string    // for sessions whose own directory does not exist
	dryRun bool
}

// importReport says what an import of another program's sessions did. Each session has one outcome.
type importReport struct {
	Program  string                   `json:"program"`
	DryRun   bool                     `json:"dryRun,omitzero"`
	Files    int                      `json:"files"`
	Rows     int                      `json:"rows"`     // read
	Sessions int                      `json:"sessions"` // read
	Outcomes map[transfer.Outcome]int `json:"outcomes"`
	Imported []importedSession        `json:"imported"` // but those that are unchanged or deleted
	Problems []importProblem          `json:"problems"`
	Notes    []importProblem          `json:"notes,omitzero"` // sessions that came in otherwise than they are at the source
}

// importedSession is a session of the report.
type importedSession struct {
	ID        session.ID       `json:"id"`
	SourceID  string           `json:"sourceID"`
	Outcome   transfer.Outcome `json:"outcome"`
	Title     string           `json:"title"`
	Directory string           `json:"directory"`
	Messages  int              `json:"messages"`
}

// importProblem is a file, a session or a row that did not come in.
type importProblem struct {
	File    string `json:"file"`
	Session string `json:"session,omitzero"` // the program's id
	Row     string `json:"row,omitzero"`
	Field   string `json:"field,omitzero"`
	Reason  string `json:"reason"`
}

// The outcomes that transfer does not know.
const (
	skipped transfer.Outcome = "skipped" // its directory does not exist
	failed  transfer.Outcome = "failed"
)

// importMemory is what an import may add to the memory of the process before garbage is collected at once, in bytes.
const importMemory = 96 << 20

// limitMemory sets the soft limit of the process, which may own a store and use more than others, until restore is called.
func limitMemory() (restore func()) {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	limit := int64(now.Sys-now.HeapReleased) + importMemory //nolint:gosec // bytes of memory
	before := debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), limit))
	return func() { debug.SetMemoryLimit(before) }
}

// importForeign imports what a program keeps: in the paths, or where it keeps it.
func (g transferCommands) importForeign(ctx context.Context, o foreignOptions, paths []string) error {
	if o.into != "" {
		into, err := g.inv.ResolvePath(o.into)
		if err != nil {
			return err
		}
		o.into = into
	}
	named := len(paths) > 0
	for i, p := range paths {
		path, err := g.inv.ResolvePath(p)
		if err != nil {
			return err
		}
		paths[i] = path
	}
	if len(paths) == 0 && o.from == foreign.Crush { // which keeps its sessions in the project
		here, err := g.inv.ResolvePath(".")
		if err != nil {
			return err
		}
		paths = []string{here}
	}
	files, err := sources.Find(o.from, paths, g.inv.Env)
	if err != nil {
		return cli.NewExitError(cli.ExitUsage, err, "")
	}
	if len(files) == 0 && named {
		return cli.UsageErrorf("nothing of %s was found in %s", o.from, strings.Join(paths, ", "))
	}
	var old []sources.File // that are not read
	files = slices.DeleteFunc(files, func(f sources.File) bool {
		isOld := !f.IsStore && f.Modified.Before(o.since)
		if isOld {
			old = append(old, f)
		}
		return isOld
	})
	r := &importReport{
		Program: o.from, DryRun: o.dryRun, Files: len(files), Outcomes: map[transfer.Outcome]int{},
		Imported: []importedSession{}, Problems: []importProblem{},
	}
	err = g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		// A session is in memory as a whole: beyond the limit garbage is collected as soon as there is some.
		defer limitMemory()()
		in := foreignRun{
			foreignOptions: o, client: c, report: r, ids: map[string]session.ID{}, imported: map[string]bool{}, deleted: map[string]bool{},
			done: map[string]bool{}, isFirst: true,
		}
		if err := g.importFiles(ctx, &in, files); err != nil {
			return err
		}
		// Sessions that others started come after those.
		in.isFirst = false
		if len(in.later) > 0 {
			in.readOldFiles(ctx, old)
			old = nil
		}
		if err := g.importFiles(ctx, &in, in.later); err != nil {
			return err
		}
		in.noteLeftOut(ctx, old)
		return nil
	})
	if n := r.Outcomes[failed]; err == nil && n > 0 {
		err = errors.New(terminal.FormatPlural(n, "session") + " could not be imported; the same command tries again")
	}
	if err == nil && named && r.Sessions == 0 && len(r.Problems) > 0 {
		err = fmt.Errorf("no session of %s could be read", o.from)
	}
	if g.inv.JSON {
		return cmp.Or(err, g.inv.PrintJSON(r))
	}
	g.printReport(r)
	return err
}

// importFiles imports the sessions of the files and shows how far it is.
func (g transferCommands) importFiles(ctx context.Context, in *foreignRun, files []sources.File) error {
	show := func(text string) { // over the line that was shown before
		if terminal.IsTerminal(g.inv.Stderr) && !g.inv.JSON {
			_, _ = fmt.Fprintf(g.inv.Stderr, "\r\x1b[K%s", text) // a terminal that is gone shows nothing
		}
	}
	for i, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		show(fmt.Sprintf("file %d of %d", i+1, len(files)))
		in.importFile(ctx, f)
	}
	show("")
	return nil
}

// foreignRun is an import under way.
type foreignRun struct {
	foreignOptions
	client *api.Client
	report *importReport
	ids    map[string]session.ID // of the sessions here, by the program's id; "" for one that was read and is not here

	imported map[string]bool // the program's ids of those that came in, or were here unchanged
	deleted  map[string]bool // the program's ids of those that stay deleted here
	old      []oldSession    // that --since leaves out
	done     map[string]bool // what was reported, by file and id
	isFirst  bool            // sessions with a parent that has not been read yet wait
	later    []sources.File  // that have such sessions
}

// errWaits ends the reading of a file whose sessions wait for others.
var errWaits = errors.New("it waits for sessions of other files")

// importFile imports the sessions of a file. What does not come in is in the report.
func (in *foreignRun) importFile(ctx context.Context, f sources.File) {
	rows, err := sources.Read(ctx, f, func(s foreign.Session) error {
		if !in.since.IsZero() && s.Updated < in.since.UnixMilli() {
			in.skipOld(f, &s)
			return context.Cause(ctx)
		}
		if _, isKnown := in.ids[s.ParentID]; in.isFirst && s.ParentID != "" && !isKnown {
			return errWaits
		}
		in.reportSession(ctx, f, &s)
		return context.Cause(ctx)
	})
	if errors.Is(err, errWaits) {
		in.later = append(in.later, f)
		return
	}
	for _, p := range rows {
		in.report.Problems = append(in.report.Problems, importProblem{f.Path, "", p.Row, p.Field, p.Reason})
	}
	if err != nil {
		in.report.Problems = append(in.report.Problems, importProblem{File: f.Path, Reason: err.Error()})
	}
}

// reportSession imports a session, unless that was done before its file had to wait, and reports what came of it.
func (in *foreignRun) reportSession(ctx context.Context, f sources.File, s *foreign.Session) {
	name := f.Path + "\x00" + s.ID
	if in.done[name] {
		return
	}
	in.done[name] = true
	in.report.Rows += s.Rows
	for _, p := range s.Problems {
		in.report.Problems = append(in.report.Problems, importProblem{f.Path, s.ID, p.Row, p.Field, p.Reason})
	}
	if len(s.Messages) == 0 && s.Original == nil { // a file of something else
		in.report.Problems = append(in.report.Problems, importProblem{File: f.Path, Reason: "it has no message that can be read"})
		return
	}
	if len(s.Messages) == 0 && len(s.Problems) > 0 {
		in.report.Problems = append(in.report.Problems,
			importProblem{File: f.Path, Session: s.ID, Reason: "none of its messages can be read, so it is left out"})
		return
	}
	in.report.Sessions++
	row, err := in.importSession(ctx, s)
	if err != nil {
		row.Outcome = failed
		in.report.Problems = append(in.report.Problems, importProblem{File: f.Path, Session: s.ID, Reason: err.Error()})
	}
	in.imported[s.ID] = row.ID != "" && err == nil && row.Outcome != transfer.Deleted
	in.noteParent(ctx, f, s, row.Outcome)
	in.report.Outcomes[row.Outcome]++
	if row.Outcome != transfer.Same && row.Outcome != transfer.Deleted {
		in.report.Imported = append(in.report.Imported, row)
	}
}

// importSession imports a session into its own directory.
func (in *foreignRun) importSession(ctx context.Context, s *foreign.Session) (row importedSession, err error) {
	row = importedSession{
		SourceID: s.ID, Title: transfer.ChooseTitle(s), Directory: s.Directory, Messages: len(s.Messages),
	}
	there := *in.client
	if there.Directory = s.Directory; !filepath.IsAbs(s.Directory) || there.IsDirectoryMissing(ctx, s.Directory) {
		there.Directory = in.into
	}
	if there.Directory == "" {
		row.Outcome, in.ids[s.ID] = skipped, ""
		return row, nil
	}
	if in.deleted[s.ParentID] && !in.isHere(ctx, transfer.ForeignID(s)) { // it was deleted with the session that started it
		row.Outcome, in.ids[s.ID], in.deleted[s.ID] = transfer.Deleted, "", true
		return row, nil
	}
	run := transfer.ForeignImport{API: &there, Parent: in.ids[s.ParentID], DryRun: in.dryRun}
	row.ID, row.Outcome, err = run.Import(ctx, s)
	in.ids[s.ID], in.deleted[s.ID] = row.ID, row.Outcome == transfer.Deleted
	return row, err
}

// maxShown bounds the problems and the notes that are printed; --json has all.
const maxShown = 20

// printReport prints what an import did.
func (g transferCommands) printReport(r *importReport) {
	for _, s := range r.Imported {
		g.inv.Out.Printf("%-9s %s  %s  %s, %s\n", s.Outcome, cmp.Or(string(s.ID), s.SourceID), terminal.FirstLine(s.Title, 100),
			terminal.FormatPlural(s.Messages, "message"), terminal.FirstLine(s.Directory, 200))
	}
	g.printProblems(r.Problems, "problem")
	g.printProblems(r.Notes, "note")
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(r.Outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", r.Outcomes[o], o))
	}
	if n := len(r.Problems); n > 0 {
		parts = append(parts, terminal.FormatPlural(n, "problem"))
	}
	verb := "Read"
	if r.DryRun {
		verb = "Nothing was written. Read"
	}
	g.inv.Err.Printf("%s %s with %s of %s: %s\n", verb, terminal.FormatPlural(r.Files, "file"),
		terminal.FormatPlural(r.Sessions, "session"), r.Program, cmp.Or(strings.Join(parts, ", "), "nothing to import"))
	if r.Outcomes[skipped] > 0 {
		g.inv.Err.Printf("The directories of skipped sessions do not exist; --into DIR imports these sessions into DIR.\n")
	}
}

// printProblems prints the first ones of a list, and how many more there are.
func (g transferCommands) printProblems(list []importProblem, noun string) {
	for i, p := range list {
		if i == maxShown {
			g.inv.Err.Printf("! %s more; --json lists them\n", terminal.FormatPlural(len(list)-i, noun))
			break
		}
		where := strings.Join(slices.DeleteFunc([]string{p.Session, p.Row, p.Field}, func(s string) bool { return s == "" }), " ")
		g.inv.Note(strings.TrimSpace(p.File+" "+where) + ": " + p.Reason)
	}
}
