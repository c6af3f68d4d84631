package systemcontext

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// world is the state of the sources in a random run: a value, unavailable, or absent.
type world map[string]string

const (
	isMissing = "?"
	isAbsent  = ""
)

func (w world) context(keys []string) Context {
	var c Context
	for _, key := range keys {
		if v := w[key]; v != isAbsent {
			c = append(
				c,
				(&fake{key: key, value: v, missing: v == isMissing, noRemoval: strings.HasSuffix(key, "n")}).source(),
			)
		}
	}
	return c
}

// listener is a model that believes every text: it keeps the last stated value of each key.
type listener map[string]string

func (l listener) hear(text string) {
	for part := range strings.SplitSeq(text, "\n\n") {
		key, rest, _ := strings.Cut(part, " ")
		switch v, isValue := strings.CutPrefix(rest, "is "); {
		case rest == "is gone":
			delete(l, key)
		case isValue:
			l[key] = strings.Trim(strings.TrimPrefix(v, "now "), `"`)
		}
	}
}

// A reader of the baseline and all texts knows the current value of every available source, keeps the last value of
// unavailable ones, and no value of absent ones.
func TestListenerKnowsValues(t *testing.T) {
	keys := []string{"x/a", "x/b", "x/c", "x/an", "x/bn"}
	rapid.Check(t, func(t *rapid.T) {
		believes := listener{}
		known := map[string]string{}
		raw := jsontext.Value(`{}`)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			w := world{}
			for _, key := range keys {
				w[key] = rapid.SampledFrom([]string{isAbsent, isMissing, "1", "2", "3"}).Draw(t, fmt.Sprint(key, step))
			}
			order := rapid.Permutation(slices.Clone(keys)).Draw(t, "order")
			act := Reconcile
			if rapid.IntRange(0, 4).Draw(t, "compacts") == 0 {
				act = Replace
			}
			o, err := act(t.Context(), w.context(order), raw)
			if err != nil {
				t.Fatal(err)
			}
			switch o.Kind {
			case OutcomeBlocked:
				continue // the old generation stays; nothing is said
			case OutcomeReady:
				clear(believes)
				believes.hear(o.Generation.Baseline)
				raw = o.Generation.Snapshot
			case OutcomeUpdated:
				believes.hear(o.Text)
				raw = o.Generation.Snapshot
			}
			for key, v := range w {
				switch v {
				case isAbsent:
					delete(known, key)
				case isMissing:
				default:
					known[key] = v
				}
			}
			if fmt.Sprint(map[string]string(believes)) != fmt.Sprint(known) {
				t.Fatalf("step %d (%v): the model's state is %v, want %v", step, o.Kind, believes, known)
			}
		}
	})
}
