package composer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// maxHistory bounds the prompts that are kept, maxKept the bytes of one, maxFile those of a file.
const (
	maxHistory = 200
	maxKept    = 64 << 10
	maxFile    = 256 << 20
)

// DraftFile keeps the typed text and the earlier prompts of one place in a file. The zero DraftFile keeps nothing.
type DraftFile struct {
	file   string
	place  string // the file of the first interface of the place; "" is not claimed
	unlock func() // nil is not claimed; refers to the lock, which would end with it
	full   bool   // all files of the place are claimed
}

// Drafts is the content of the file.
type Drafts struct {
	Draft   string   `json:"draft,omitzero"`
	History []string `json:"history,omitempty"` // oldest first
	Files   []string `json:"media,omitempty"`   // names of files of this machine that the draft names
}

// Stash is the content of another file beside it, which may be large and is seldom written.
type Stash struct {
	Texts []string `json:"texts,omitempty"` // that are put away, oldest first
	Files []string `json:"media,omitempty"` // names of files of this machine that they name
}

// NewDraftFile returns the store of the file.
func NewDraftFile(file string) DraftFile { return DraftFile{file: file} }

// Load returns what is kept, with the earlier prompts of other interfaces of the place. A file that is missing or
// damaged holds nothing.
func (s DraftFile) Load() (k Drafts) {
	k = load[Drafts](s.file)
	if s.place != "" {
		k.History = s.loadHistory(k.History)
	}
	return k
}

// LoadStash is Load for the texts that are put away.
func (s DraftFile) LoadStash() Stash { return load[Stash](s.stashFile()) }

// moveEarlierStash moves the texts that an earlier cairn put away into the draft file itself to the file of the stash.
// They stay where they are if that cannot be written.
func (s DraftFile) moveEarlierStash() {
	earlier := load[struct {
		Drafts
		Stash []string `json:"stash"`
	}](s.file)
	if len(earlier.Stash) == 0 {
		return
	}
	away := s.LoadStash()
	away.Texts = slices.Concat(earlier.Stash, away.Texts)
	away.Files = slices.Concat(earlier.Files, away.Files)
	if s.SaveStash(away) == nil {
		_ = s.Save(earlier.Drafts) // saving the next text says what is wrong
	}
}

func load[T any](file string) (kept T) {
	var none T
	b, err := statefile.ReadRegular(file, maxFile)
	if file == "" || err != nil || json.Unmarshal(b, &kept, jsontext.AllowInvalidUTF8(true)) != nil {
		return none
	}
	return kept
}

// Save replaces what is kept. Long prompts are not part of the history.
func (s DraftFile) Save(k Drafts) error {
	history := slices.DeleteFunc(slices.Clone(k.History), func(h string) bool { return len(h) > maxKept })
	k.History = history[max(0, len(history)-maxHistory):]
	return save(s.file, k)
}

// SaveStash replaces the texts that are put away.
func (s DraftFile) SaveStash(away Stash) error { return save(s.stashFile(), away) }

func (s DraftFile) stashFile() string {
	if s.file == "" {
		return ""
	}
	return strings.TrimSuffix(s.file, ".json") + ".stash.json"
}

func save(file string, kept any) error {
	if file == "" {
		return nil
	}
	b, err := json.Marshal(kept, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return statefile.ReplaceUnsynced(file, b, 0o600)
}

// PromptHistory walks through earlier prompts.
type PromptHistory struct {
	Prompts []string // oldest first
	at      int      // how many steps back from the newest; 0 is the text being typed
	typed   string   // the text that was left
}

// Add puts a prompt to the end, unless it is already there.
func (h *PromptHistory) Add(prompt string) {
	h.at = 0
	if n := len(h.Prompts); n == 0 || h.Prompts[n-1] != prompt {
		h.Prompts = append(h.Prompts, prompt)
	}
}

// Move returns the prompt that many steps back or, with a negative number, forth; ok is false at the ends.
func (h *PromptHistory) Move(steps int, typed string) (text string, ok bool) {
	to := h.at + steps
	if to < 0 || to > len(h.Prompts) || to == h.at {
		return "", false
	}
	if h.at == 0 {
		h.typed = typed
	}
	h.at = to
	if to == 0 {
		return h.typed, true
	}
	return h.Prompts[len(h.Prompts)-to], true
}
