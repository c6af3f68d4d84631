// Package modelfile keeps which models the user marked as favourites and chose lately, in a file of the state
// directory.
package modelfile

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// The bounds of the file: favourites, recent models, the bytes of a name and of the file.
const (
	maxFavourites = 100
	maxRecent     = 10
	maxName       = 300
	maxFile       = 256 << 10
)

// Lists are the models by the names that prompts choose them by.
type Lists struct {
	Favourites []string `json:"favourites,omitempty"` // in the order in which they were marked
	Recent     []string `json:"recent,omitempty"`     // the newest first
}

// File is the file. The zero File keeps nothing.
type File struct{ path string }

// New returns the file of a path.
func New(path string) File { return File{path} }

// Load returns the lists. A file that is missing or damaged has none.
func (f File) Load() (l Lists) {
	if f.path == "" {
		return l
	}
	raw, err := statefile.Read(f.path, maxFile)
	if err != nil || json.Unmarshal(raw, &l) != nil {
		return Lists{}
	}
	return l
}

// ToggleFavourite marks a model, or takes the mark away. It returns the lists as they are then.
func (f File) ToggleFavourite(ctx context.Context, model string) (Lists, error) {
	return f.change(ctx, model, func(l *Lists) {
		if i := slices.Index(l.Favourites, model); i >= 0 {
			l.Favourites = slices.Delete(l.Favourites, i, i+1)
			return
		}
		l.Favourites = append(l.Favourites, model)
		l.Favourites = l.Favourites[max(0, len(l.Favourites)-maxFavourites):]
	})
}

// NoteUse puts a model first of the recent ones.
func (f File) NoteUse(ctx context.Context, model string) (Lists, error) {
	return f.change(ctx, model, func(l *Lists) {
		l.Recent = slices.DeleteFunc(l.Recent, func(name string) bool { return name == model })
		l.Recent = slices.Insert(l.Recent, 0, model)
		l.Recent = l.Recent[:min(len(l.Recent), maxRecent)]
	})
}

// change changes the lists under the lock of the file.
func (f File) change(ctx context.Context, model string, edit func(*Lists)) (l Lists, err error) {
	if f.path == "" || len(model) > maxName {
		return f.Load(), nil
	}
	err = statefile.WithLock(ctx, f.path, func() error {
		l = f.Load()
		edit(&l)
		raw, err := json.Marshal(l, json.Deterministic(true))
		if err != nil {
			return err
		}
		return statefile.Replace(f.path, raw, 0o600)
	})
	return l, err
}
