// Package systemcontext implements the system context of a session: typed sources are observed, rendered into a
// baseline when an epoch begins, and compared with a snapshot at every later boundary, so that a change becomes one
// message with the new value (SC-1 to SC-7).
//
// An observed source is in one of three states. Available: it has a value. Unavailable: it cannot be read now, and its
// last admitted value stays in force silently. Absent: it is no longer part of the context; its removal text is
// announced or, without one, a new generation is needed.
//
// The package uses no files, clock or store. Values come in, texts and snapshots go out. A snapshot is only for
// comparison and never leaves the process.
package systemcontext

import (
	"context"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Spec defines one source. T must survive a round trip through JSON: two values are equal if their canonical JSON is.
// Texts must not be empty.
type Spec[T any] struct {
	// Key identifies the source across restarts, "segment/rest": lower-case letters, digits, '.', '_' and '-', in the rest
	// also '/'; both parts start with a letter or digit.
	Key string
	// Load returns the current value, or why it cannot be known now, in words for the user. It is called once per
	// observation, concurrently with other loaders, and must return soon after ctx ends.
	Load func(ctx context.Context) (v T, unavailable error)
	// Baseline renders the complete value, when an epoch starts or the source is new.
	Baseline func(v T) string
	// Update renders the new value for a model that received prev. It states the current value only, never the previous
	// one.
	Update func(prev, cur T) string
	// Removal renders, while v is in force, the text that announces the removal of the source. If it is nil, a removal
	// needs a new generation.
	Removal func(v T) string
}

// Source is a Spec with its type erased.
type Source struct {
	key     string
	observe func(ctx context.Context) (value, error)
}

// Key returns the key of the source.
func (s Source) Key() string { return s.key }

// value is the observed value of a source. Its renderers are called only when needed.
type value struct {
	encode   func() (jsontext.Value, error)
	baseline func() string
	removal  func() string // nil: no removal text
	// compare decodes the stored value; ok is false if that fails. update renders the change.
	compare func(stored jsontext.Value) (equal bool, update func() string, ok bool)
}

// Make returns the source of a Spec.
func Make[T any](s Spec[T]) Source {
	return Source{key: s.Key, observe: func(ctx context.Context) (value, error) {
		cur, err := s.Load(ctx)
		if err != nil {
			return value{}, err
		}
		v := value{
			encode:   func() (jsontext.Value, error) { return encodeCanonical(cur) },
			baseline: func() string { return s.Baseline(cur) },
			compare:  func(stored jsontext.Value) (bool, func() string, bool) { return compare(s, stored, cur) },
		}
		if s.Removal != nil {
			v.removal = func() string { return s.Removal(cur) }
		}
		return v, nil
	}}
}

func compare[T any](s Spec[T], stored jsontext.Value, cur T) (equal bool, update func() string, ok bool) {
	var prev T
	if len(stored) == 0 || json.Unmarshal(stored, &prev) != nil {
		return false, nil, false
	}
	a, errA := encodeCanonical(prev)
	b, errB := encodeCanonical(cur)
	equal = errA == nil && errB == nil && string(a) == string(b)
	return equal, func() string { return s.Update(prev, cur) }, true
}

// encodeCanonical encodes v so that equal values have equal bytes.
func encodeCanonical[T any](v T) (jsontext.Value, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	raw := jsontext.Value(b)
	return raw, raw.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
}

// Context is an ordered list of sources with distinct keys. It may be empty.
type Context []Source

// Combine joins contexts in the given order. A repeated key is a *KeyError.
func Combine(parts ...Context) (Context, error) {
	var all Context
	for _, p := range parts {
		all = append(all, p...)
	}
	return all, all.check()
}

// KeyError means that a key is invalid or in use.
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
