// Package systemcontext is the algebra of what a model is told about its surroundings: typed sources are observed,
// rendered once into a baseline at the start of a context epoch, and compared with a snapshot at every boundary after
// that, so that a change becomes one message stating the new effective value (spec/v2 §11.1, SC-1 to SC-7).
//
// A source is in one of three states when observed. Available: it has a value. Unavailable: it cannot be read now;
// what was admitted before stays in force, silently. Absent: it is not part of the Context any more; its removal text
// is announced, or, where it has none, a new generation is needed.
//
// The package knows no files, no clock and no store: values in, texts and snapshots out. A snapshot is for comparing
// only and never leaves the process.
package systemcontext

import (
	"context"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Spec says what one source observes and how its value reads. T must survive a round trip through JSON: two values
// are equal when their JSON is, whatever the order of its keys. Texts may not be empty.
type Spec[T any] struct {
	// Key is the source's identity across restarts, "segment/rest": lower-case letters, digits, '.', '_' and '-', in
	// the rest also '/'; both parts start with a letter or digit.
	Key string
	// Load returns the one coherent value of now, or false when it cannot be known now. It is called once per
	// observation, concurrently with the loaders of other sources, and returns soon after ctx ends.
	Load func(ctx context.Context) (v T, ok bool)
	// Baseline renders the complete value for the start of an epoch, or for a source new to a running one.
	Baseline func(v T) string
	// Update renders the new value for a model that was told prev. It states what holds now, never what held before.
	Update func(prev, cur T) string
	// Removal renders, while v holds, what to say should the source disappear. Nil: a disappearance needs a new
	// generation.
	Removal func(v T) string
}

// Source is a Spec with its type hidden, so that sources of different types make one Context.
type Source struct {
	key     string
	observe func(ctx context.Context) (value, bool)
}

// Key returns the key of the source.
func (s Source) Key() string { return s.key }

// value is what one observation of an available source can be asked. Renderers run only when asked.
type value struct {
	encode   func() (jsontext.Value, error)
	baseline func() string
	removal  func() string // nil: none
	// compare decodes the stored value; ok is false when it no longer decodes. update renders against it.
	compare func(stored jsontext.Value) (equal bool, update func() string, ok bool)
}

// Make makes a source of a Spec.
func Make[T any](s Spec[T]) Source {
	return Source{key: s.Key, observe: func(ctx context.Context) (value, bool) {
		cur, ok := s.Load(ctx)
		if !ok {
			return value{}, false
		}
		v := value{
			encode:   func() (jsontext.Value, error) { return canonical(cur) },
			baseline: func() string { return s.Baseline(cur) },
			compare:  func(stored jsontext.Value) (bool, func() string, bool) { return compare(s, stored, cur) },
		}
		if s.Removal != nil {
			v.removal = func() string { return s.Removal(cur) }
		}
		return v, true
	}}
}

func compare[T any](s Spec[T], stored jsontext.Value, cur T) (equal bool, update func() string, ok bool) {
	var prev T
	if len(stored) == 0 || json.Unmarshal(stored, &prev) != nil {
		return false, nil, false
	}
	a, errA := canonical(prev)
	b, errB := canonical(cur)
	equal = errA == nil && errB == nil && string(a) == string(b)
	return equal, func() string { return s.Update(prev, cur) }, true
}

// canonical encodes v so that equal values have equal bytes.
func canonical[T any](v T) (jsontext.Value, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	raw := jsontext.Value(b)
	return raw, raw.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
}

// Context is an ordered set of sources with distinct keys. The empty Context is legal.
type Context []Source

// Combine joins contexts in the order given. A key that occurs twice is a *KeyError.
func Combine(parts ...Context) (Context, error) {
	var all Context
	for _, p := range parts {
		all = append(all, p...)
	}
	return all, all.check()
}

// KeyError says that a key cannot be used.
type KeyError struct {
	Key string
	Why string
}

func (e *KeyError) Error() string { return fmt.Sprintf("system context source %q %s", e.Key, e.Why) }

var keySyntax = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$`)

func (c Context) check() error {
	seen := make(map[string]bool, len(c))
	for _, s := range c {
		switch {
		case !keySyntax.MatchString(s.key):
			return &KeyError{s.key, "is not a key: want segment/rest of lower-case letters, digits, '.', '_' and '-'"}
		case seen[s.key]:
			return &KeyError{s.key, "is there twice"}
		}
		seen[s.key] = true
	}
	return nil
}
