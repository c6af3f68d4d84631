package root

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// What an earlier run left waiting is allowed by --ask=allow.
func TestAllowAnswersEarlierAsks(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	free := session.Rule{Action: "*", Resource: "*", Effect: session.Allow}
	s, err := sh.engine.Commands.CreateSession(
		t.Context(),
		admit.CreateRequest{Location: session.Location{Directory: "/work"}, Permission: []session.Rule{
			free, {Action: "bash", Resource: "*", Effect: session.Ask}, {Action: "edit", Resource: "*", Effect: session.Ask},
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := map[session.AskID]session.Reply{}
	for _, ask := range []session.PendingAsk{
		{Action: "bash", Resources: []string{"$X y"}},
		{Action: "edit", Resources: []string{"a"}},
	} {
		effect, id, err := sh.engine.Asks.AskExternally(t.Context(), s.ID, ask)
		if err != nil || effect != session.Ask {
			t.Fatal(effect, err)
		}
		want[id] = session.ReplyOnce
	}
	sh.run("run", "-s", string(s.ID), "--ask=allow", "go on")
	for id, reply := range want {
		var row *store.AskRow
		err := sh.store.View(t.Context(), func(r store.Reader) (err error) {
			row, _, err = store.FindAsk(r, id)
			return err
		})
		if err != nil || row == nil || row.Reply != reply {
			t.Errorf("%s: %+v, want %s (%v)", id, row, reply, err)
		}
	}
}
