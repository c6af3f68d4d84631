package embed

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// ContextSource is a text that the program adds to the system context of all sessions. It is read before each turn.
// What has changed since the last one is told to the model in a message, so that the provider's cache stays valid.
type ContextSource struct {
	// Key identifies the source across restarts: lower-case letters, digits, '.', '_' and '-'.
	Key string
	// Read returns the text, of at most 1 MiB; "" leaves the source out. It has two seconds, then its ctx ends. An error,
	// a panic included, leaves the last text in force; before there was one, it keeps the turn from beginning.
	Read func(ctx context.Context) (string, error)
}

// maxSource bounds a text, in bytes.
const maxSource = 1 << 20

// sourcePrefix begins the keys of the program's sources, beside those of cairn's own.
const sourcePrefix = "program/"

func newSources(sources []ContextSource, logger *slog.Logger) (map[string]systemcontext.Producer, error) {
	out := map[string]systemcontext.Producer{}
	for i, s := range sources {
		field, key := "Context["+strconv.Itoa(i)+"]", sourcePrefix+s.Key
		switch {
		case systemcontext.CheckKey(key) != nil:
			return nil, newInvalid(
				field, "the key %q of a source is not made of lower-case letters, digits, '.', '_' and '-'", s.Key,
			)
		case out[key] != nil:
			return nil, newInvalid(field, "there are two sources with the key %q", s.Key)
		case s.Read == nil:
			return nil, newInvalid(field, "the source %q has no function Read", s.Key)
		}
		out[key] = func(ctx context.Context) systemcontext.Context {
			text, err := call(ctx, logger, "source "+s.Key, func() (string, error) { return s.Read(ctx) })
			switch {
			case err != nil:
				err = fmt.Errorf("the source %s of the program: %w", s.Key, err)
			case len(text) > maxSource:
				err = fmt.Errorf("the source %s of the program has %d bytes, the limit is %d", s.Key, len(text), maxSource)
			case text == "":
				return nil
			}
			return systemcontext.Context{systemcontext.Make(systemcontext.Spec[string]{
				Key: key, Value: text, Err: err,
				Baseline: func(text string) string { return text },
				Update:   func(_, text string) string { return text },
				Removal: func(string) string {
					return "The part " + s.Key + " of the system context no longer applies."
				},
			})}
		}
	}
	return out, nil
}
