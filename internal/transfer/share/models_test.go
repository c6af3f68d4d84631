package share_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// promptModel adds a prompt to a model.
func (w *world) promptModel(id session.MessageID, model string) {
	w.add("ses_a", &session.Prompted{MessageID: id, Delivery: session.Steer, Prompt: session.Prompt{
		Text: "to " + model, Model: &session.ModelRef{ProviderID: "p", ID: model},
	}})
}

// servedModels returns the ids of the models that the server serves.
func (w *world) servedModels(remote string) (ids []string) {
	for _, i := range w.server.Served(remote) {
		if i.Type == "model" {
			for _, part := range strings.Split(string(i.Data), `"id":"`)[1:] {
				id, _, _ := strings.Cut(part, `"`)
				if id != "" { // that of its API
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// The list of models has those of all prompts, also after a restart, and stays as it is when they are unknown.
func TestModelsOfAllPrompts(t *testing.T) {
	play(t, func(w *world) {
		known := func(refs []session.ModelRef) (out []opencode.ModelInfo, err error) {
			for _, ref := range refs {
				out = append(out, opencode.ModelInfo{ID: ref.ID, ProviderID: ref.ProviderID})
			}
			return out, nil
		}
		w.models = known
		w.promptModel("msg_x", "x")
		s := w.share(remote)
		w.settle(time.Second)
		w.promptModel("msg_y", "y")
		w.settle(time.Second)
		w.stop()
		w.start()
		w.promptModel("msg_z", "a")
		w.settle(time.Minute)
		if diff := cmp.Diff([]string{"a", "x", "y"}, w.servedModels(s.RemoteID)); diff != "" {
			t.Error(diff)
		}
		w.stop()
		w.models = func([]session.ModelRef) ([]opencode.ModelInfo, error) {
			return nil, errors.New("the directory is gone")
		}
		w.start()
		w.promptModel("msg_zz", "b")
		w.settle(time.Minute)
		if diff := cmp.Diff([]string{"a", "x", "y"}, w.servedModels(s.RemoteID)); diff != "" || len(w.texts(s.RemoteID)) != 5 {
			t.Error(diff, w.texts(s.RemoteID))
		}
		// The server gets them when they are known again, also from another process.
		w.stop()
		w.models = known
		w.start()
		w.promptModel("msg_zzza", "x")
		w.settle(time.Minute)
		if diff := cmp.Diff([]string{"a", "b", "x", "y"}, w.servedModels(s.RemoteID)); diff != "" {
			t.Error(diff)
		}
		n := len(w.server.Requests())
		w.promptModel("msg_zzzb", "x")
		w.settle(time.Minute)
		for _, r := range w.server.Requests()[n:] {
			if slices.ContainsFunc(r.Items, func(i sharetarget.Item) bool { return i.Type == "model" }) {
				t.Error("the list is sent again")
			}
		}
	})
}

// A preview has what an upload sends, without secrets, and sends nothing.
func TestPreview(t *testing.T) {
	play(t, func(w *world) {
		w.prompt("ses_a", "second known-secret")
		var all strings.Builder
		filter := &redaction.Filter{Known: []string{"known-secret"}}
		err := w.outbox.Preview(t.Context(), "ses_a", filter, func(items []share.Item) error {
			for _, i := range items {
				all.Write(i.Data)
			}
			return nil
		})
		if got := all.String(); err != nil || !strings.Contains(got, "first") || !strings.Contains(got, "second [redacted]") ||
			filter.Replaced() != 1 || len(w.server.Requests()) > 0 {
			t.Errorf("%s %v", got, err)
		}
	})
}
