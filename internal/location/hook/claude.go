package hook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// maxSettings bounds the bytes of a file of settings.
const maxSettings = 1 << 20

// Imported are the hooks of a file of Claude Code's settings.
type Imported struct {
	File     string                        `json:"file"`
	Groups   map[string][]config.HookGroup `json:"hooks"` // by event
	Problems []string                      `json:"problems"`
}

// Count returns the number of commands.
func (i *Imported) Count() (n int) {
	for _, groups := range i.Groups {
		for _, g := range groups {
			n += len(g.Hooks)
		}
	}
	return n
}

// ReadClaude reads the hooks of a file of Claude Code's settings; nil if there is no such file. What cairn cannot run is
// a problem, and the others are returned.
func ReadClaude(file string) (*Imported, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() > maxSettings || !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file of settings", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var settings struct {
		Hooks map[string][]struct {
			Matcher string           `json:"matcher"`
			Hooks   []jsontext.Value `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", file, err)
	}
	// Keep what the configuration accepts.
	out := &Imported{File: file, Groups: map[string][]config.HookGroup{}, Problems: []string{}}
	for event, groups := range settings.Hooks {
		if !slices.Contains(config.HookEvents, event) {
			out.Problems = append(out.Problems, fmt.Sprintf("%s: cairn does not have this event", event))
			continue
		}
		for i, g := range groups {
			kept := config.HookGroup{Matcher: config.HookMatcher(g.Matcher)}
			if json.Unmarshal(encode(kept), &config.HookGroup{}) != nil {
				out.Problems = append(out.Problems, fmt.Sprintf("%s.%d: the matcher %q is no regular expression of Go", event, i, g.Matcher))
				continue
			}
			for j, raw := range g.Hooks {
				var h config.HookCommand
				if err := json.Unmarshal(raw, &h); err != nil {
					out.Problems = append(out.Problems, fmt.Sprintf("%s.%d.hooks.%d: it is no command that cairn can run", event, i, j))
					continue
				}
				h.Allow = false
				kept.Hooks = append(kept.Hooks, h)
			}
			if len(kept.Hooks) > 0 {
				out.Groups[event] = append(out.Groups[event], kept)
			}
		}
	}
	slices.Sort(out.Problems)
	return out, nil
}
