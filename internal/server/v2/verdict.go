package v2

import (
	"net/http"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// explainPermission says what the rules decide about an action, and by which of them.
func (a *API) explainPermission(w http.ResponseWriter, r *http.Request) error {
	l, _, err := a.place(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	query := ask.Query{
		SessionID: session.ID(q.Get("sessionID")), Location: l, Agent: q.Get("agent"), Action: q.Get("action"), Resources: q["resource"],
	}
	switch {
	case query.Action == "":
		return httpio.Invalid("query", "action", "action is missing: it must name what would be done, e.g. bash or edit")
	case len(query.Resources) == 0:
		return httpio.Invalid("query", "resource", "resource is missing: it must say on what, e.g. the command or the path")
	}
	decisions, err := a.engine.Asks.ExplainRights(r.Context(), query)
	if err != nil {
		return httpio.WithPart("query", err)
	}
	out := api.Verdict{Effect: permission.Worst(decisions).Effect, Parts: make([]api.Decision, len(decisions))}
	for i, d := range decisions {
		shown := strings.ReplaceAll(d.Resource, "\x00", "…")
		out.Parts[i] = api.Decision{Resource: shown, Effect: d.Effect, Rule: d.Rule, Layer: d.Layer, Source: d.Source, Possible: d.Possible}
	}
	return data(w, out)
}
