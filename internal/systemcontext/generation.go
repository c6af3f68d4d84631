package systemcontext

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Generation is what an epoch starts with: the exact text for the model, and the snapshot to compare with later.
type Generation struct {
	Baseline string
	Snapshot jsontext.Value // the same entries always have the same bytes
}

// Outcome is what a boundary found. Updated: Text, and Generation.Snapshot to be stored in the transaction that
// appends Text. Ready: the whole Generation, for a new epoch. Blocked: Keys, and everything stays as it was.
type Outcome struct {
	Kind       OutcomeKind
	Text       string
	Generation Generation
	Keys       []string
}

// OutcomeKind tells outcomes apart.
type OutcomeKind int

// The kinds of outcome.
const (
	OutcomeUnchanged OutcomeKind = iota
	OutcomeUpdated
	OutcomeReady
	OutcomeBlocked
)

func (k OutcomeKind) String() string {
	return [...]string{"unchanged", "updated", "ready", "blocked"}[k]
}

// Blocked says that a first generation cannot be made because sources are unavailable.
type Blocked struct{ Keys []string }

func (e *Blocked) Error() string {
	return "the system context is incomplete: unavailable now: " + strings.Join(e.Keys, ", ")
}

// paragraphs joins rendered parts, with one blank line between them (SC-3).
func paragraphs(parts []string) string { return strings.Join(parts, "\n\n") }

// Initialize observes every source once and renders the first generation of an epoch. An unavailable source makes it
// a *Blocked error (SC-4).
func Initialize(ctx context.Context, c Context) (Generation, error) {
	seen, err := observe(ctx, c)
	if err != nil {
		return Generation{}, err
	}
	if keys := unavailable(seen, func(observation) bool { return true }); len(keys) > 0 {
		return Generation{}, &Blocked{keys}
	}
	return generate(seen)
}

// Reconcile observes every source once and compares with the snapshot prev: Unchanged, Updated with one text for all
// changes, or, when a stored value no longer decodes or a source without removal text is gone, what Replace returns
// for the same observation (SC-5). A prev that is no snapshot is a *SnapshotError.
func Reconcile(ctx context.Context, c Context, prev jsontext.Value) (Outcome, error) {
	stored, err := decodeSnapshot(prev)
	if err != nil {
		return Outcome{}, err
	}
	seen, err := observe(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	if incompatible(seen, stored) {
		return replace(seen, stored)
	}
	return update(seen, stored)
}

// Replace observes every source once and renders a new generation of those available. An unavailable source that prev
// holds makes it Blocked; one never admitted is left out and appears later, as a new source (SC-6).
func Replace(ctx context.Context, c Context, prev jsontext.Value) (Outcome, error) {
	stored, err := decodeSnapshot(prev)
	if err != nil {
		return Outcome{}, err
	}
	seen, err := observe(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	return replace(seen, stored)
}

func replace(seen []observation, stored snapshot) (Outcome, error) {
	admitted := func(o observation) bool { _, ok := stored[o.key]; return ok }
	if keys := unavailable(seen, admitted); len(keys) > 0 {
		return Outcome{Kind: OutcomeBlocked, Keys: keys}, nil
	}
	g, err := generate(seen)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Kind: OutcomeReady, Generation: g}, nil
}

// generate renders the available sources.
func generate(seen []observation) (Generation, error) {
	next := snapshot{}
	var parts []string
	for _, o := range seen {
		if !o.available {
			continue
		}
		part, err := text(o.key, "baseline", o.value.baseline)
		if err != nil {
			return Generation{}, err
		}
		if err := next.admit(o); err != nil {
			return Generation{}, err
		}
		parts = append(parts, part)
	}
	raw, err := next.encode()
	return Generation{Baseline: paragraphs(parts), Snapshot: raw}, err
}

// incompatible reports whether the snapshot can only be replaced: a value that its source cannot decode, or a key
// that is gone without a removal text.
func incompatible(seen []observation, stored snapshot) bool {
	present := make(map[string]bool, len(seen))
	for _, o := range seen {
		present[o.key] = true
		if e, known := stored[o.key]; known && o.available {
			if _, _, ok := o.value.compare(e.Value); !ok {
				return true
			}
		}
	}
	for key, e := range stored {
		if !present[key] && e.Removal == "" {
			return true
		}
	}
	return false
}

// update renders what changed, in source order, then what is gone, in key order.
func update(seen []observation, stored snapshot) (Outcome, error) {
	next := maps.Clone(stored)
	gone := maps.Clone(stored)
	var parts []string
	for _, o := range seen {
		delete(gone, o.key)
		if !o.available {
			continue
		}
		part, err := change(o, stored)
		if err != nil {
			return Outcome{}, err
		}
		if part == "" {
			continue
		}
		if err := next.admit(o); err != nil {
			return Outcome{}, err
		}
		parts = append(parts, part)
	}
	for _, key := range slices.Sorted(maps.Keys(gone)) {
		parts = append(parts, gone[key].Removal)
		delete(next, key)
	}
	if len(parts) == 0 {
		return Outcome{Kind: OutcomeUnchanged}, nil
	}
	raw, err := next.encode()
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Kind: OutcomeUpdated, Text: paragraphs(parts), Generation: Generation{Snapshot: raw}}, nil
}

// change renders one source's difference to the snapshot, "" when there is none.
func change(o observation, stored snapshot) (string, error) {
	e, known := stored[o.key]
	if !known {
		return text(o.key, "baseline", o.value.baseline)
	}
	equal, render, _ := o.value.compare(e.Value)
	if equal {
		return "", nil
	}
	return text(o.key, "update", render)
}

func unavailable(seen []observation, counts func(observation) bool) []string {
	var keys []string
	for _, o := range seen {
		if !o.available && counts(o) {
			keys = append(keys, o.key)
		}
	}
	return keys
}
