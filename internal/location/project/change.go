package project

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// RecordChange is what a user changes in a record; nil fields stay.
type RecordChange struct {
	Name      *string // "" removes it
	Icon      *store.ProjectIcon
	Commands  *store.ProjectCommands
	Directory *string // an absolute path: the record becomes that of the project there
	DryRun    bool    // return what the change would do, and change nothing
}

// hasUserData reports whether a user gave the record something.
func hasUserData(p store.Project) bool {
	return p.Name != "" || p.Icon != (store.ProjectIcon{}) || p.Commands != (store.ProjectCommands{})
}

// errDryRun ends the transaction of a dry run.
var errDryRun = errors.New("dry run")

// ChangedRecord is a record after a change.
type ChangedRecord struct {
	store.Project
	// Dropped are the saved approvals of the records whose place it took. They were deleted, but for a dry run.
	Dropped []store.Approval
}

// Limits of what users give a record.
const (
	maxName    = 200      // bytes
	maxIcon    = 64 << 10 // bytes of each field
	maxColor   = 64       // bytes
	maxCommand = 16 << 10 // bytes
)

func (c RecordChange) check() error {
	if c.Name != nil {
		if len(*c.Name) > maxName || strings.ContainsFunc(*c.Name, unicode.IsControl) {
			return session.Errorf(session.CodeInvalid,
				"the name must be one line of at most %d bytes", maxName).At("name")
		}
	}
	if i := c.Icon; i != nil && (len(i.URL) > maxIcon || len(i.Override) > maxIcon || len(i.Color) > maxColor) {
		return session.Errorf(session.CodeInvalid, "the icon is too large: url and override have at most %d bytes, "+
			"color at most %d", maxIcon, maxColor).At("icon")
	}
	if c.Commands != nil && len(c.Commands.Start) > maxCommand {
		return session.Errorf(session.CodeInvalid, "the command has at most %d bytes", maxCommand).At("commands.start")
	}
	return nil
}

// ChangeRecord changes a record and returns it. An unknown id is a *session.Error of code not-found. A record that is
// bound to a directory takes the place of the one that the directory had (PR-6): it gets its sessions, and its approvals
// are dropped.
func (f *Finder) ChangeRecord(ctx context.Context, id session.RecordID, c RecordChange) (out ChangedRecord, err error) {
	if err := c.check(); err != nil {
		return out, err
	}
	// Look at the directory before the transaction, so that the disk does not hold it up.
	now := &diskState{}
	if c.Directory != nil {
		real, err := resolve(*c.Directory)
		if err != nil {
			return out, err
		}
		if filepath.Dir(real) == real {
			return out, session.Errorf(session.CodeInvalid, "%s cannot be the directory of a project: everything is in it",
				real).At("directory")
		}
		now, _, _ = f.observe(ctx, real)
		now.observeWorktrees()
		now.Root()
	}
	err = f.update(ctx, now, store.Durable, func(tx store.Tx) error {
		// Change what the user gives the record.
		found, err := tx.Projects(store.ProjectQuery{ID: id})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return session.NotFound("project", string(id))
		}
		out = ChangedRecord{Project: c.apply(found[0])}
		if c.Directory == nil {
			return cmp.Or(tx.PutProject(out.Project), c.finish(now))
		}
		// Put it in the place of the records of the directory, with the root commit of what is there.
		if out.Dropped, err = replaceOthers(tx, now, id); err != nil {
			return err
		}
		out.Root = ""
		out.Project = now.apply(out.Project)
		return cmp.Or(putRecord(tx, out.Project, now), c.finish(now))
	})
	if errors.Is(err, errDryRun) {
		return out, nil
	}
	if err == nil {
		f.announce(ctx, out.Project)
	}
	return out, err
}

// finish ends the transaction of a dry run without a change, unless git has to answer first.
func (c RecordChange) finish(now *diskState) error {
	if !c.DryRun || now.commits != nil && now.commits.hasMissed() {
		return nil
	}
	return errDryRun
}

// apply returns the record with what the user gives it.
func (c RecordChange) apply(p store.Project) store.Project {
	if c.Name != nil {
		p.Name = strings.TrimSpace(*c.Name)
	}
	if c.Icon != nil {
		p.Icon = *c.Icon
	}
	if c.Commands != nil {
		p.Commands = *c.Commands
	}
	p.Updated = time.Now().UnixMilli()
	return p
}

// replaceOthers deletes the other records that what is on disk could lead to. Their sessions become those of the record,
// their approvals are returned.
func replaceOthers(tx store.Tx, now *diskState, id session.RecordID) (dropped []store.Approval, err error) {
	others, err := tx.Projects(now.query())
	if err != nil {
		return nil, err
	}
	for _, p := range others {
		if p.ID == id || !isAt(now, &p) && !slices.ContainsFunc(rules, func(r rule) bool { return r(now, &p) }) {
			continue
		}
		approvals, err := tx.Approvals(p.ID)
		if err != nil {
			return nil, err
		}
		dropped = append(dropped, approvals...)
		if _, err := tx.DeleteProject(p.ID, id); err != nil {
			return nil, err
		}
	}
	return dropped, nil
}

// ForgetRecord deletes a record with its approvals. Its sessions stay, without a record: the next one of their directory
// gets them. An unknown id is a *session.Error of code not-found.
func (f *Finder) ForgetRecord(ctx context.Context, id session.RecordID) error {
	var existed bool
	err := f.Store.Update(ctx, store.Durable, func(tx store.Tx) (err error) {
		existed, err = tx.DeleteProject(id, "")
		return err
	})
	if err == nil && !existed {
		err = session.NotFound("project", string(id))
	}
	return err
}

// announce tells that a record has changed.
func (f *Finder) announce(ctx context.Context, p store.Project) {
	if f.OnChange != nil {
		f.OnChange(ctx, p)
	}
}
