package systemcontext

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// State compares a source with what the model knows of it.
type State string

// The states. A source that the model knows as it is has none.
const (
	StateNew         State = "new"
	StateChanged     State = "changed"
	StateRemoved     State = "removed"
	StateUnavailable State = "unavailable"
)

// SourceDescription holds the text of a source that the model has or, if it is new, will get.
type SourceDescription struct {
	Key   string
	State State
	Parts []SourcePart // joined by blank lines they are the baseline of the value; none if the value cannot be decoded
}

// Describe observes every source once and describes it next to the snapshot prev; nil describes each as it is now. The
// order is that of the sources, then the removed ones by key.
func Describe(ctx context.Context, c Context, prev jsontext.Value) ([]SourceDescription, error) {
	stored := snapshot{}
	if prev != nil {
		var err error
		if stored, err = decodeSnapshot(prev); err != nil {
			return nil, err
		}
	}
	seen, err := observe(ctx, c)
	if err != nil {
		return nil, err
	}
	var out []SourceDescription
	gone := maps.Clone(stored)
	for _, o := range seen {
		delete(gone, o.key)
		out = append(out, describe(o, stored, prev == nil))
	}
	for _, key := range slices.Sorted(maps.Keys(gone)) {
		out = append(out, SourceDescription{Key: key, State: StateRemoved})
	}
	return out, nil
}

func describe(o observation, stored snapshot, asItIs bool) SourceDescription {
	d := SourceDescription{Key: o.key}
	e, known := stored[o.key]
	switch {
	case o.unavailable != nil:
		d.State = StateUnavailable
		if !known || o.value == nil {
			return d
		}
	case !known && !asItIs:
		d.State = StateNew
	case known:
		if equal, ok := o.value.compare(e.Value); !ok || !equal {
			d.State = StateChanged
		}
	}
	d.Parts = o.value.listParts(e.Value)
	return d
}
