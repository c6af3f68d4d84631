package mcp

import (
	"context"
	"maps"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// Definition is what a model reads because of a tool.
type Definition struct {
	Fingerprint string         `json:"fingerprint"`
	Guidance    string         `json:"guidance,omitzero"` // the server's instructions
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
}

// compare returns the difference to a later definition in lines.
func (d Definition) compare(later Definition) string {
	text := func(d Definition) []byte {
		schema := d.Schema.Clone()
		_ = schema.Indent() // it is valid
		return []byte(d.Description + "\n\n" + string(schema) + "\n\n" + d.Guidance + "\n")
	}
	return linediff.Compare(text(d), text(later), 3).FormatPatch("description")
}

// Approvals remembers, in a file, how tools were described when a call of them was allowed last, by a person or by
// rules. A tool that its server describes anew keeps that description, for models, until a call of it is allowed again;
// so do the instructions of a server. Permission requests are for the newest description, so a rule that was saved for
// another one does not allow it. Safe for concurrent use, also by processes.
type Approvals struct {
	path string
	load sync.Once // reads the file into known

	mu      sync.Mutex            // guards the rest
	known   map[string]Definition // by approvalKey
	changes int                   // of known
}

// Bounds of the file. The oldest entries have no mark, so any are dropped beyond them.
const (
	maxApprovals    = 2000
	maxApprovalFile = 64 << 20
)

// approvalVersion is the version of the file's form, which has no member for it yet: its members are tools.
const approvalVersion = 1

// NewApprovals returns the approvals of a file, which need not exist.
func NewApprovals(path string) *Approvals { return &Approvals{path: path} }

func approvalKey(directory, name string) string { return directory + "\x00" + name }

// guidanceName is the name of the entry for the instructions of a server. No tool has it.
func guidanceName(server string) string { return "instructions of " + server }

// find returns how a tool of a directory was described when it was allowed. A nil a finds nothing.
func (a *Approvals) find(directory, name string) (Definition, bool) {
	if a == nil {
		return Definition{}, false
	}
	a.load.Do(func() {
		known, _ := a.read() // an unreadable file is as good as none here; note reports it
		a.mu.Lock()
		defer a.mu.Unlock()
		a.known = known
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	d, ok := a.known[approvalKey(directory, name)]
	return d, ok
}

// read returns the content of the file. A missing or damaged file is empty: nothing has been allowed. That
// of a newer cairn is an error, so that it is not replaced.
func (a *Approvals) read() (map[string]Definition, error) {
	out := map[string]Definition{}
	text, err := statefile.Read(a.path, maxApprovalFile)
	if err != nil {
		return out, err
	}
	if err := statefile.CheckVersion(a.path, text, approvalVersion); err != nil {
		return out, err
	}
	if json.Unmarshal(text, &out) != nil || out == nil {
		out = map[string]Definition{}
	}
	return out, nil
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

// note records that a call of a server's tool as it is described now was allowed, with the instructions of the server.
// With an error it is known to this process only.
func (a *Approvals) note(ctx context.Context, directory, server, name string, d Definition) error {
	if before, ok := a.find(directory, name); a == nil || ok && before.Fingerprint == d.Fingerprint {
		return nil
	}
	news := map[string]Definition{
		approvalKey(directory, name):                 d,
		approvalKey(directory, guidanceName(server)): {Fingerprint: d.Fingerprint, Guidance: d.Guidance},
	}
	a.mu.Lock()
	for key, d := range news {
		a.known[key] = d
	}
	a.changes++
	a.mu.Unlock()
	return statefile.WithLock(context.WithoutCancel(ctx), a.path, func() error {
		all, err := a.read()
		if err != nil {
			return err
		}
		maps.Copy(all, news)
		text, err := encodeApprovals(all, news)
		if err != nil {
			return err
		}
		return statefile.Replace(a.path, text, 0o600)
	})
}

// encodeApprovals returns the content of the file, without some entries beyond its bounds. Those of keep stay.
func encodeApprovals(all, keep map[string]Definition) ([]byte, error) {
	size := 0
	for key, d := range all {
		size += entrySize(key, d)
	}
	for key, d := range all {
		if len(all) <= maxApprovals && size <= maxApprovalFile/2 { // text can double when it is encoded
			break
		}
		if _, ok := keep[key]; !ok {
			size -= entrySize(key, d)
			delete(all, key)
		}
	}
	return json.Marshal(all, json.Deterministic(true))
}

func entrySize(key string, d Definition) int {
	return len(key) + len(d.Guidance) + len(d.Description) + len(d.Schema) + 200
}
