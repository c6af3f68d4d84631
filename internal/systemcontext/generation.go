package systemcontext

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Generation is the start of an epoch: the text for the model, and the snapshot for later comparison.
type Generation struct {
	Baseline string
	Snapshot jsontext.Value // deterministic encoding
}

// Outcome is the result of reconciling. Updated: Text, and Generation.Snapshot to store in the transaction that appends
// Text. Ready: the whole Generation, for a new epoch. Blocked: Missing; nothing changes.
type Outcome struct {
	Kind       OutcomeKind
	Text       string
	Generation Generation
	Missing    []Unavailable
}

// OutcomeKind is the kind of an Outcome.
type OutcomeKind int

// The kinds of outcome.
const (
	OutcomeUnchanged OutcomeKind = iota
	OutcomeUpdated
	OutcomeReady
	OutcomeBlocked
)

// BlockedError means that a first generation cannot be rendered because sources are unavailable.
type BlockedError struct{ Sources []Unavailable }

// Unavailable is a source that cannot be read now.
type Unavailable struct {
	Key string
	Err error
}

// ReadError names the files and addresses that cannot be read, which people know better than the key of a source.
type ReadError struct{ Problems []string } // "place: reason" each

func (e *ReadError) Error() string { return strings.Join(e.Problems, "; ") }

func (e *BlockedError) Error() string {
	parts := make([]string, len(e.Sources))
	for i, s := range e.Sources {
		parts[i] = s.Err.Error()
		if _, named := errors.AsType[*ReadError](s.Err); !named {
			parts[i] = s.Key + ": " + parts[i]
		}
	}
	return "the system context cannot be read: " + strings.Join(parts, "; ")
}

// joinParts joins rendered parts with blank lines (SC-3).
func joinParts(parts []string) string { return strings.Join(parts, "\n\n") }

// Initialize observes every source once and renders the first generation of an epoch. An unavailable source is a
// *BlockedError (SC-4).
func Initialize(ctx context.Context, c Context) (Generation, error) {
	seen, err := observe(ctx, c)
	if err != nil {
		return Generation{}, err
	}
	if missing := unavailableSources(seen, func(observation) bool { return true }); len(missing) > 0 {
		return Generation{}, &BlockedError{missing}
	}
	return newGeneration(seen)
}

// Reconcile observes every source once and compares it with the snapshot prev. The outcome is Unchanged, or Updated
// with one text for all changes; if a stored value no longer decodes, or a source without removal text is gone, it is
// the outcome of Replace for the same observation (SC-5). An invalid prev is a *SnapshotError.
func Reconcile(ctx context.Context, c Context, prev jsontext.Value) (Outcome, error) {
	seen, err := observe(ctx, c)
	if err != nil || isUnchanged(prev, seen) {
		return Outcome{}, err
	}
	stored, err := decodeSnapshot(prev)
	if err != nil {
		return Outcome{}, err
	}
	if needsReplacement(seen, stored) {
		return replace(seen, stored)
	}
	return update(seen, stored)
}

// Replace observes every source once and renders a new generation of the available ones. An unavailable source that
// prev contains makes it Blocked; one that was never admitted is left out and appears later as a new source (SC-6).
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
	if missing := unavailableSources(seen, admitted); len(missing) > 0 {
		return Outcome{Kind: OutcomeBlocked, Missing: missing}, nil
	}
	g, err := newGeneration(seen)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Kind: OutcomeReady, Generation: g}, nil
}

// newGeneration renders the available sources.
func newGeneration(seen []observation) (Generation, error) {
	next := snapshot{}
	var parts []string
	for _, o := range seen {
		if o.unavailable != nil {
			continue
		}
		part, err := renderText(o.key, "baseline", o.value.renderBaseline)
		if err != nil {
			return Generation{}, err
		}
		if err := next.addEntry(o); err != nil {
			return Generation{}, err
		}
		parts = append(parts, part)
	}
	raw, err := next.encode()
	return Generation{Baseline: joinParts(parts), Snapshot: raw}, err
}

// needsReplacement reports whether the snapshot can only be replaced: a source cannot decode its value, or a key is
// gone without a removal text.
func needsReplacement(seen []observation, stored snapshot) bool {
	present := make(map[string]bool, len(seen))
	for _, o := range seen {
		present[o.key] = true
		if e, known := stored[o.key]; known && o.unavailable == nil {
			if _, ok := o.value.compare(e.Value); !ok {
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

// update renders the changed sources in source order, then the removed ones in key order.
func update(seen []observation, stored snapshot) (Outcome, error) {
	next := maps.Clone(stored)
	gone := maps.Clone(stored)
	var parts []string
	// A source that is unavailable keeps its entry: its value is unknown, which is not a change.
	for _, o := range seen {
		delete(gone, o.key)
		if o.unavailable != nil {
			continue
		}
		part, err := renderChange(o, stored)
		if err != nil {
			return Outcome{}, err
		}
		if part == "" {
			continue
		}
		if err := next.addEntry(o); err != nil {
			return Outcome{}, err
		}
		parts = append(parts, part)
	}
	// Entries left in gone have no source any more. A map has no order, so sort their keys.
	for _, key := range slices.Sorted(maps.Keys(gone)) {
		parts = append(parts, gone[key].Removal)
		delete(next, key)
	}
	// Without text the model has nothing to learn, so the stored snapshot stays as it is.
	if len(parts) == 0 {
		return Outcome{Kind: OutcomeUnchanged}, nil
	}
	raw, err := next.encode()
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Kind: OutcomeUpdated, Text: joinParts(parts), Generation: Generation{Snapshot: raw}}, nil
}

// renderChange renders a source's change since the snapshot; "" if it is unchanged.
func renderChange(o observation, stored snapshot) (string, error) {
	e, known := stored[o.key]
	if !known {
		return renderText(o.key, "baseline", o.value.renderBaseline)
	}
	if equal, _ := o.value.compare(e.Value); equal {
		return "", nil
	}
	return renderText(o.key, "update", func() string { return o.value.renderUpdate(e.Value) })
}

func unavailableSources(seen []observation, counts func(observation) bool) []Unavailable {
	var missing []Unavailable
	for _, o := range seen {
		if o.unavailable != nil && counts(o) {
			missing = append(missing, Unavailable{o.key, o.unavailable})
		}
	}
	return missing
}
