package composer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxHistory bounds the prompts that are kept, maxKept the bytes of one.
const (
	maxHistory = 200
	maxKept    = 64 << 10
)

// DraftFile keeps the typed text and the earlier prompts of one place in a file. The zero DraftFile keeps nothing.
type DraftFile struct{ file string }

// Drafts is the content of the file.
type Drafts struct {
	Draft   string   `json:"draft,omitzero"`
	History []string `json:"history,omitempty"` // oldest first
	Stash   []string `json:"stash,omitempty"`   // texts that are put away, oldest first
	Media   []string `json:"media,omitempty"`   // names of images and PDFs that the texts name
}

// NewDraftFile returns the store of the file.
func NewDraftFile(file string) DraftFile { return DraftFile{file} }

// Load returns what is kept. A file that is missing or damaged holds nothing.
func (s DraftFile) Load() (k Drafts) {
	b, err := os.ReadFile(s.file)
	if s.file == "" || err != nil || json.Unmarshal(b, &k, jsontext.AllowInvalidUTF8(true)) != nil {
		return Drafts{}
	}
	return k
}

// Save replaces what is kept. Long prompts are not part of the history.
func (s DraftFile) Save(k Drafts) error {
	if s.file == "" {
		return nil
	}
	history := slices.DeleteFunc(slices.Clone(k.History), func(h string) bool { return len(h) > maxKept })
	k.History = history[max(0, len(history)-maxHistory):]
	b, err := json.Marshal(k, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.file), ".draft-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.file)
	}
	if err != nil {
		if rm := os.Remove(f.Name()); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}
	return err
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
