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
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Spec defines one source. T must survive a round trip through JSON: two values are equal if their canonical JSON is.
// Texts must not be empty.
type Spec[T any] struct {
	// Key identifies the source across restarts, "segment/rest": lower-case letters, digits, '.', '_' and '-', in the rest
	// also '/'; both parts start with a letter or digit.
	Key string
	// Value is the current value, and Err, if not nil, why it cannot be known now, in words for the user: of sources
	// without Load, whose producer has read them.
	Value T
	Err   error
	// Load returns the current value or why it is unavailable. It is called once per observation, concurrently with
	// other loaders, with a ctx that ends after LoadLimit; an answer that comes later is not waited for.
	Load func(ctx context.Context) (v T, unavailable error)
	// Baseline renders the complete value, when an epoch starts or the source is new.
	Baseline func(v T) string
	// Update renders the new value for a model that received prev. It states the current value only, never the previous
	// one.
	Update func(prev, cur T) string
	// Removal renders, while v is in force, the text that announces the removal of the source. If it is nil, a removal
	// needs a new generation.
	Removal func(v T) string
	// Parts names the parts of the baseline of v, which blank lines join; nil if it is one text.
	Parts func(v T) []SourcePart
}

// SourcePart is a named part of a source's text, such as one of its files.
type SourcePart struct{ Name, Text string }

// Source is a Spec with its type erased.
type Source struct {
	key  string
	load func(ctx context.Context) (value, error) // nil: read is the value
	read value
	err  error
}

// value is the observed value of a source. It renders only when needed.
type value interface {
	encode() (jsontext.Value, error)
	renderBaseline() string
	removalRenderer() func() string // nil: no removal text
	// compare decodes the stored value; ok is false if that fails.
	compare(stored jsontext.Value) (equal, ok bool)
	// renderUpdate renders the change from the stored value, which can be decoded.
	renderUpdate(stored jsontext.Value) string
	// listParts returns the parts of the baseline of the stored value, nil of the observed one.
	listParts(stored jsontext.Value) []SourcePart
}

// Make returns the source of a Spec.
func Make[T any](s Spec[T]) Source {
	if s.Load == nil {
		return Source{key: s.Key, read: &specValue[T]{&s, s.Value}, err: s.Err}
	}
	return Source{key: s.Key, load: func(ctx context.Context) (value, error) {
		cur, err := s.Load(ctx)
		return &specValue[T]{&s, cur}, err
	}}
}

// specValue is the value of a Spec.
type specValue[T any] struct {
	spec *Spec[T]
	cur  T
}

func (o *specValue[T]) encode() (jsontext.Value, error) { return encodeCanonical(&o.cur) }

func (o *specValue[T]) renderBaseline() string { return o.spec.Baseline(o.cur) }

func (o *specValue[T]) removalRenderer() func() string {
	if o.spec.Removal == nil {
		return nil
	}
	return func() string { return o.spec.Removal(o.cur) }
}

func (o *specValue[T]) renderUpdate(stored jsontext.Value) string {
	var prev T
	_ = json.Unmarshal(stored, &prev) // compare has decoded it
	return o.spec.Update(prev, o.cur)
}

func (o *specValue[T]) listParts(stored jsontext.Value) []SourcePart {
	v := o.cur
	if stored != nil && json.Unmarshal(stored, &v) != nil {
		return nil
	}
	if o.spec.Parts != nil {
		return o.spec.Parts(v)
	}
	return []SourcePart{{Text: o.spec.Baseline(v)}}
}

// compare compares the bytes first, which are the same as long as nothing changes.
func (o *specValue[T]) compare(stored jsontext.Value) (equal, ok bool) {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	if json.MarshalWrite(buf, &o.cur, encoding) == nil {
		raw := jsontext.Value(buf.Bytes())
		if raw.Canonicalize(canonical) == nil && bytes.Equal(raw, stored) {
			return true, true
		}
	}
	var prev T
	if len(stored) == 0 || json.Unmarshal(stored, &prev) != nil {
		return false, false
	}
	a, errA := encodeCanonical(&prev)
	b, errB := encodeCanonical(&o.cur)
	return errA == nil && errB == nil && string(a) == string(b), true
}

var (
	encoding  = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	canonical = json.JoinOptions(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	buffers   = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// encodeCanonical encodes v so that equal values have equal bytes.
func encodeCanonical[T any](v T) (jsontext.Value, error) {
	b, err := json.Marshal(v, encoding)
	if err != nil {
		return nil, err
	}
	raw := jsontext.Value(b)
	return raw, raw.Canonicalize(canonical)
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
	for i, s := range c {
		if err := CheckKey(s.key); err != nil {
			return err
		}
		for _, before := range c[:i] {
			if before.key == s.key {
				return &KeyError{s.key, "is there twice"}
			}
		}
	}
	return nil
}

// CheckKey returns a *KeyError for an invalid key.
func CheckKey(key string) error {
	if !keySyntax.MatchString(key) {
		return &KeyError{key, "is not a key: want segment/rest of lower-case letters, digits, '.', '_' and '-'"}
	}
	return nil
}
