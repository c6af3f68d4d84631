package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// Salvage implements cli.Host. It works beside the owner of the store.
func (h Host) Salvage(ctx context.Context, o cli.Options, dir string) (*cli.Salvage, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if hasNoStore(dirs) {
		return nil, session.Errorf(session.CodeNotFound, "%s does not contain a store", dirs.Data)
	}
	if err := checkNewHome(dirs, dir); err != nil {
		return nil, err
	}
	to := filepath.Join(dir, "data")
	report, err := sqlite.Salvage(ctx, dirs.Data, to, projectRow)
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: to, Version: o.Version})
	if err != nil {
		return nil, err
	}
	out, err := newSalvageReport(ctx, s, report)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	out.Home = dir
	return out, nil
}

// checkNewHome fails if dir holds anything, or is within the data folder, which salvage leaves as it is.
func checkNewHome(dirs config.Directories, dir string) error {
	if rel, err := filepath.Rel(dirs.Data, dir); err == nil && (rel == "." || filepath.IsLocal(rel)) {
		return session.Errorf(session.CodeInvalid, "%s is in the data folder; name a directory outside of it", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return session.Errorf(session.CodeInvalid, "%s must be a new directory: %v", dir, err)
	}
	if len(entries) > 0 {
		return session.Errorf(session.CodeInvalid, "%s is not empty; name a new directory", dir)
	}
	if _, perr := os.Stat(filepath.Dir(dir)); err != nil && errors.Is(perr, fs.ErrNotExist) {
		return session.Errorf(session.CodeInvalid, "%s cannot be made: %s does not exist; correct the path, or make it",
			dir, filepath.Dir(dir))
	}
	return nil
}

// projectRow applies one salvaged event to the projections.
func projectRow(tx store.Tx, row store.EventRow) error {
	e, err := eventlog.Decode(row)
	if err != nil {
		return err
	}
	return projection.Apply(tx, e)
}

// newSalvageReport says what was salvaged and lost of each session.
func newSalvageReport(ctx context.Context, s store.Store, report *sqlite.SalvageReport) (*cli.Salvage, error) {
	events, err := countSalvaged(ctx, s)
	if err != nil {
		return nil, err
	}
	lost := map[session.ID][]string{}
	for _, l := range report.Lost {
		lost[l.SessionID] = append(lost[l.SessionID], describeLoss(l))
		if l.SessionID != "" {
			events[l.SessionID] += 0
		}
	}
	out := &cli.Salvage{Sessions: []cli.SalvagedSession{}, Lost: append([]string{}, lost[""]...)}
	for id, n := range events {
		one := cli.SalvagedSession{SessionID: id, Events: n, Lost: append([]string{}, lost[id]...)}
		if n > 0 {
			if one.Title, err = titleOf(ctx, s, id); err != nil {
				return nil, fmt.Errorf("read session %s: %w", id, err)
			}
		}
		out.Events += one.Events
		out.Sessions = append(out.Sessions, one)
	}
	slices.SortFunc(out.Sessions, func(a, b cli.SalvagedSession) int {
		return strings.Compare(string(a.SessionID), string(b.SessionID))
	})
	return out, nil
}

func describeLoss(l sqlite.Loss) string {
	if l.FromSeq < 0 {
		return l.Detail
	}
	text := fmt.Sprintf("from event %d on: %s", l.FromSeq, l.Detail)
	if l.Readable > 0 {
		text += fmt.Sprintf("; %d later events can be read but not be salvaged", l.Readable)
	}
	return text
}

// feedPage bounds the events that one read transaction returns.
const feedPage = 256

// countSalvaged returns the number of events of each session that has some.
func countSalvaged(ctx context.Context, s store.Store) (map[session.ID]int, error) {
	counts := map[session.ID]int{}
	for after, more := int64(0), true; more; {
		err := s.View(ctx, func(r store.Reader) error {
			rows, err := r.Events("", after, feedPage)
			more = len(rows) == feedPage
			for _, row := range rows {
				if after = row.Position; row.Kind != session.KindDeleted {
					counts[row.SessionID]++
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func titleOf(ctx context.Context, s store.Store, id session.ID) (title string, err error) {
	err = s.View(ctx, func(r store.Reader) error {
		row, ok, err := r.Session(id)
		if ok {
			title = row.Title
		}
		return err
	})
	return title, err
}
