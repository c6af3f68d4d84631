package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// openOwnerOf opens an owner of the home.
func openOwnerOf(t *testing.T, o client.Options) *owner {
	t.Helper()
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := openOwner(t.Context(), lease, dirs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return w
}

// The approvals that the migration drops are named with their place, to the person and by doctor for some time.
func TestDroppedApprovalsAreNamed(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	var said []string
	o.Note = func(text string) { said = append(said, text) }
	w := openOwnerOf(t, o)
	err := w.store.Update(t.Context(), store.Durable, func(tx store.Tx) (err error) {
		for i := range maxNamedApprovals + 1 {
			err = errors.Join(err, tx.PutApproval(store.Approval{
				ID: fmt.Sprintf("psv_%d", i), RecordID: "directory:/old/place", Action: "bash", Resource: fmt.Sprintf("make %d", i),
				Lifetime: session.LifetimeProject,
			}))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.moveApprovals(t.Context(), o)
	if text := strings.Join(said, "\n"); !strings.Contains(text, "6 saved approvals dropped") ||
		!strings.Contains(text, "cairn audit show") || !strings.Contains(text, "bash make 0 (in /old/place)") {
		t.Errorf("said:\n%s", text)
	}
	found := examineDropped(t.Context(), w.dirs, time.Now())
	if len(found) != 1 || !strings.Contains(found[0].Detail, "6 saved approvals dropped: /old/place: bash make 0;") ||
		!strings.HasSuffix(found[0].Detail, "; 1 more") {
		t.Errorf("found: %+v", found)
	}
	if err := audit.New(w.dirs.Data).AddEntry(t.Context(), audit.KindRules, "another entry"); err != nil {
		t.Fatal(err)
	}
	if late := examineDropped(t.Context(), w.dirs, time.Now().Add(droppedTime+time.Hour)); len(late) != 0 {
		t.Errorf("much later: %+v", late)
	}
}

// A refused change of a record rebuilds no location; one that was made, or may have been, rebuilds all.
func TestChangedRecordsAreFoundAgain(t *testing.T) {
	home, _ := newHome(t)
	w := openOwnerOf(t, optionsOf(home))
	records := projectRecords{w.locations}
	before, err := w.locations.load(t.Context(), w.dirs.Home)
	if err != nil {
		t.Fatal(err)
	}
	if err := records.ForgetRecord(t.Context(), "prj_none"); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Error(err)
	}
	if same, err := w.locations.load(t.Context(), w.dirs.Home); err != nil || same != before {
		t.Errorf("a refused change rebuilt the location, %v", err)
	}
	if err := records.ForgetRecord(t.Context(), before.project.RecordID); err != nil {
		t.Fatal(err)
	}
	after, err := w.locations.load(t.Context(), w.dirs.Home)
	if err != nil || after.project.RecordID == before.project.RecordID || after.project.RecordID == "" {
		t.Errorf("the forgotten record %s is still used, %v", before.project.RecordID, err)
	}
	if !mayHaveChanged(errors.New("disk I/O error")) || mayHaveChanged(session.NotFound("project", "x")) {
		t.Error("an error of the store leaves it open whether the change was made")
	}
}

// Streams of V2 hear of a changed project, too.
func TestChangedProjectIsAnnounced(t *testing.T) {
	home, _ := newHome(t)
	w := openOwnerOf(t, optionsOf(home))
	setup, err := w.locations.load(t.Context(), w.dirs.Home)
	if err != nil {
		t.Fatal(err)
	}
	at := w.log.NewestMark()
	name := "Mine"
	records := projectRecords{w.locations}
	if _, err := records.ChangeRecord(t.Context(), setup.project.RecordID, project.RecordChange{Name: &name}); err != nil {
		t.Fatal(err)
	}
	w.log.Notify(eventlog.Notice{Kind: "end of the test", Data: jsontext.Value(`{}`)})
	for u, err := range w.log.FollowAll(t.Context(), at) {
		if err != nil {
			t.Fatal(err)
		}
		if n := u.Notice; n == nil || n.Kind != "project.updated" || n.Directory != "" ||
			!strings.Contains(string(n.Data), `"name":"Mine"`) || strings.Contains(string(n.Data), "recordID") {
			t.Errorf("%+v", u)
		}
		break
	}
}
