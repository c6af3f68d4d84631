package mcp

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// Definition is what a model reads of a tool.
type Definition struct {
	Fingerprint string         `json:"fingerprint"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
}

// compare returns the difference to a later definition in lines.
func (d Definition) compare(later Definition) string {
	text := func(d Definition) []byte {
		schema := d.Schema.Clone()
		_ = schema.Indent() // it is valid
		return []byte(d.Description + "\n\n" + string(schema) + "\n")
	}
	return linediff.Compare(text(d), text(later), 3).FormatPatch("description")
}

// Approvals remembers, in a file, how tools were described when a call of them was allowed last. A tool that its server
// describes anew keeps the description that was allowed, for models, until a call of it is allowed again: a server
// cannot put words into a prompt that were not there when a person allowed it. Safe for concurrent use, also by
// processes.
type Approvals struct {
	path string

	mu      sync.Mutex            // guards the rest
	known   map[string]Definition // nil before the first use
	changes int                   // of known
}

// maxApprovals bounds the tools that are remembered.
const maxApprovals = 2000

// maxApprovalFile bounds the file, in bytes.
const maxApprovalFile = 64 << 20

// NewApprovals returns the approvals of a file, which need not exist.
func NewApprovals(path string) *Approvals { return &Approvals{path: path} }

func approvalKey(directory, name string) string { return directory + "\x00" + name }

// find returns how a tool of a directory was described when it was allowed.
func (a *Approvals) find(directory, name string) (Definition, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = a.read()
	}
	d, ok := a.known[approvalKey(directory, name)]
	return d, ok
}

// read returns the content of the file; a missing or damaged one is empty: then nothing has been allowed.
func (a *Approvals) read() map[string]Definition {
	out := map[string]Definition{}
	text, err := statefile.Read(a.path, maxApprovalFile)
	if err != nil || json.Unmarshal(text, &out) != nil || out == nil {
		return map[string]Definition{}
	}
	return out
}

// countChanges returns how often something was allowed that was not before; a nil a has 0.
func (a *Approvals) countChanges() int {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changes
}

// note records that a call of a tool as it is described now was allowed. An error of the disk is ignored: the tool is
// then asked for anew when it changes.
func (a *Approvals) note(directory, name string, d Definition) {
	before, ok := a.find(directory, name)
	if ok && before.Fingerprint == d.Fingerprint && bytes.Equal(before.Schema, d.Schema) {
		return
	}
	key := approvalKey(directory, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[key], a.changes = d, a.changes+1
	_ = statefile.WithLock(context.Background(), a.path, func() error {
		all := a.read()
		all[key] = d
		for other := range all {
			if len(all) <= maxApprovals {
				break
			}
			if other != key {
				delete(all, other)
			}
		}
		text, err := json.Marshal(all, json.Deterministic(true))
		if err != nil {
			return err
		}
		if err := statefile.Replace(a.path, text, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}
