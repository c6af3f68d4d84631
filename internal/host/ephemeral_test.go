package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// An owner deletes the ephemeral sessions whose commands have ended, with their subagents, and no other one.
func TestEphemeralSessionsThatWereLeft(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	w := openOwnerOf(t, o)
	create := func(id, parent session.ID, ephemeral bool) *session.Session {
		s, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
			ID: id, ParentID: parent, Ephemeral: ephemeral, Location: session.Location{Directory: o.Dir},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hold := func(id session.ID) func(bool) {
		release, err := Host{}.HoldSession(t.Context(), o, id)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	gone := func(id session.ID) bool {
		_, err := store.ReadSession(t.Context(), w.store, id)
		return errors.Is(err, &session.Error{Code: session.CodeNotFound})
	}
	lockFile := func(id session.ID) string { return filepath.Join(w.dirs.Data, ephemeralDir, string(id)) }

	// One of a command that runs, one that was left, with a subagent, one of another machine, and one that stays.
	release := hold("ses_held")
	hold("ses_left")(false)
	hold("ses_stray")(false) // never created
	create("ses_held", "", true)
	create("ses_left", "", true)
	create("ses_child", "ses_left", false)
	remote := create("ses_remote", "", true)
	create("ses_kept", "", false)
	hold("ses_kept")(false)
	w.deleteEphemeral(t.Context())
	for id, want := range map[session.ID]bool{
		"ses_held": false, "ses_left": true, "ses_child": true, "ses_remote": false, "ses_kept": false,
	} {
		if gone(id) != want {
			t.Errorf("%s is gone: %v, want %v", id, gone(id), want)
		}
	}
	for _, id := range []session.ID{"ses_left", "ses_stray"} {
		if _, err := os.Lstat(lockFile(id)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the lock of %s: %v", id, err)
		}
	}

	// The one of another machine goes when it was unchanged for an hour.
	changed := time.UnixMilli(remote.Time.Updated)
	for _, step := range []struct {
		later time.Duration
		want  bool
	}{{ephemeralIdle - time.Millisecond, false}, {ephemeralIdle, true}} {
		if err := w.deleteIfLeft(t.Context(), remote, changed.Add(step.later)); err != nil || gone("ses_remote") != step.want {
			t.Errorf("after %v: gone %v, %v", step.later, gone("ses_remote"), err)
		}
	}
	release(true)
	if _, err := os.Lstat(lockFile("ses_held")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock of a command that ended: %v", err)
	}
}
