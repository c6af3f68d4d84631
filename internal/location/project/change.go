package project

import (
	"context"
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
	Directory *string // an absolute path: the record becomes that of the project there
}

// Limits of what users give a record.
const (
	maxName  = 200      // bytes
	maxIcon  = 64 << 10 // bytes of each field
	maxColor = 64       // bytes
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
	return nil
}

// ChangeRecord changes a record and returns it. An unknown id is a *session.Error of code not-found. A record that is
// bound to a directory takes the place of the one that the directory had, with its sessions and without its approvals.
func (f *Finder) ChangeRecord(ctx context.Context, id session.RecordID, c RecordChange) (out store.Project, err error) {
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
		now, _, _ = f.observe(ctx, real)
		now.observeWorktrees()
		now.Root()
	}
	err = f.update(ctx, now, store.Durable, func(tx store.Tx) error {
		found, err := tx.Projects(store.ProjectQuery{ID: id})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return session.NotFound("project", string(id))
		}
		out = found[0]
		if c.Name != nil {
			out.Name = strings.TrimSpace(*c.Name)
		}
		if c.Icon != nil {
			out.Icon = *c.Icon
		}
		out.Updated = time.Now().UnixMilli()
		if c.Directory == nil {
			return tx.PutProject(out)
		}
		// The record takes the place of those of the directory, and the root commit of what is there.
		if err := deleteOthers(tx, now, id); err != nil {
			return err
		}
		out.Root = ""
		out = now.apply(out)
		return putRecord(tx, out, now)
	})
	if err == nil {
		f.announce(out)
	}
	return out, err
}

// deleteOthers deletes the other records of what is on disk.
func deleteOthers(tx store.Tx, now *diskState, id session.RecordID) error {
	others, err := tx.Projects(now.query())
	for _, p := range others {
		if err == nil && p.ID != id && (isAt(now, &p) || isMoved(now, &p)) {
			_, err = tx.DeleteProject(p.ID, id)
		}
	}
	return err
}

// ForgetRecord deletes a record with its approvals. Its sessions stay: the next record of their directory gets them. An
// unknown id is a *session.Error of code not-found.
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
func (f *Finder) announce(p store.Project) {
	if f.OnChange != nil {
		f.OnChange(p)
	}
}
