package admit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// readCreated reads the first event of a session.
func readCreated(rd store.Reader, id session.ID) (*session.Created, error) {
	rows, err := rd.Events(id, -1, 1)
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 {
		ev, err := eventlog.Decode(rows[0])
		if err != nil {
			return nil, err
		}
		if d, ok := ev.Data.(*session.Created); ok {
			return d, nil
		}
	}
	return nil, &store.Damage{SessionID: id, Detail: "the log does not begin with the session's creation"}
}

// isSameCreation reports whether the request has the content that the session was created with, except the location.
func isSameCreation(s session.Session, r CreateRequest) bool {
	title := ""
	if s.TitledBy == "user" {
		title = s.Title
	}
	isSameBudget := func(a, b session.Budget) bool { return a == b }
	return s.ParentID == r.ParentID && s.Agent == r.Agent && isSameTitle(title, r.Title) &&
		equalPointers(s.Model, r.Model, session.ModelRef.Equal) &&
		equalPointers(
			s.Budget,
			r.Budget.WithDefaults(s.Budget),
			isSameBudget,
		) && // a limit that the request leaves open fits
		slices.Equal(s.Permission, r.Permission) && s.Open == r.Open && s.Sandbox.IsAtLeast(r.Sandbox) &&
		(r.Timezone == "" || r.Timezone == s.Timezone) && string(s.Metadata) == string(r.Metadata) &&
		(s.Ephemeral == r.Ephemeral || s.ParentID != "") // a child has that of its parent
}

func equalPointers[T any](a, b *T, equal func(T, T) bool) bool {
	return a == b || a != nil && b != nil && equal(*a, *b)
}

// checkSameAdmission returns nil if the request has the content that was admitted under its id. Later edits of the
// prompt do not count.
func checkSameAdmission(rd store.Reader, in *session.Input, r PromptRequest) error {
	admitted, delivery := in.Prompt, in.Delivery
	if rows, err := rd.Events(in.SessionID, in.AdmittedSeq-1, 1); err != nil {
		return err
	} else if len(rows) == 1 {
		ev, err := eventlog.Decode(rows[0])
		if err != nil {
			return err
		}
		if d, ok := ev.Data.(*session.PromptAdmitted); ok && d.MessageID == in.ID {
			admitted, delivery = d.Prompt, d.Delivery
			if d.Original != nil {
				admitted = *d.Original
			}
		}
	}
	admitted.Agents = slices.Clone(admitted.Agents)
	for i := range admitted.Agents {
		admitted.Agents[i].Denied = false
	}
	a, errA := json.Marshal(withUnreadFiles(admitted, r.Prompt), json.Deterministic(true))
	b, errB := json.Marshal(r.Prompt, json.Deterministic(true))
	if err := cmp.Or(errA, errB); err != nil {
		return err
	}
	if in.SessionID != r.SessionID || delivery != r.Delivery || string(a) != string(b) {
		return session.Conflict("message", string(r.ID), "was used for another prompt; use a new id for a new prompt")
	}
	return nil
}

// withUnreadFiles returns the admitted prompt without the content of the files that the repeated prompt names by file:
// URIs. The files may have changed since.
func withUnreadFiles(admitted, repeated session.Prompt) session.Prompt {
	if len(admitted.Files) != len(repeated.Files) {
		return admitted
	}
	admitted.Files = slices.Clone(admitted.Files)
	for i, f := range repeated.Files {
		was := &admitted.Files[i]
		if !strings.HasPrefix(f.URI, "file:") || f.Text != "" || was.Name != f.Name {
			continue
		}
		was.Text = ""
		if strings.HasPrefix(was.URI, "data:") { // media is stored instead of its name
			was.URI, was.Mime = f.URI, f.Mime
		}
	}
	return admitted
}
