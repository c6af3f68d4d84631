package compaction

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

// The limits of a Record in any window: bytes of one prompt's text and of all texts, and files.
const (
	maxRequest  = 2000
	maxRequests = 12_000
	maxFiles    = 200
)

// NewRecord returns the facts of the past that the choice hides: the user's prompts, the files that tools, commands and
// subagents changed, and the open todos and asks. It begins with the prompts and files of the previous compaction's
// record. The texts of all prompts together have at most maxBytes; the first prompt and the newest ones stay.
func NewRecord(c *Choice, todos []session.Todo, asks []string, maxBytes int) *session.Record {
	maxBytes = min(maxBytes, maxRequests)
	r := &session.Record{Asks: asks}
	if c.Previous != nil && c.Previous.Record != nil {
		r.Requests = slices.Clone(c.Previous.Record.Requests)
		r.Omitted, r.Files = c.Previous.Record.Omitted, slices.Clone(c.Previous.Record.Files)
	}
	// Add what is open now.
	for _, t := range todos {
		if t.Status.Open() {
			r.Todos = append(r.Todos, t)
		}
	}
	// Add the prompts and files of the messages that are summarised.
	for _, m := range c.Head {
		switch m := m.(type) {
		case *session.User:
			if text := strings.TrimSpace(m.Text); text != "" && (c.Prompt == nil || m.ID != c.Prompt.ID) {
				r.Requests = append(r.Requests, cutText(text, min(maxRequest, maxBytes/3)))
			}
		case *session.Assistant:
			for _, t := range m.Tools() {
				r.Files = mergeFiles(r.Files, changedFiles(t))
			}
		}
	}
	r.Files = mergeFiles(r.Files, c.Changed)
	// Bound both lists.
	boundRequests(r, maxBytes)
	r.Files = r.Files[max(0, len(r.Files)-maxFiles):]
	return r
}

// boundRequests drops prompts after the first one, the oldest first, until all texts together are within their limit.
func boundRequests(r *session.Record, maxBytes int) {
	size := 0
	for _, text := range r.Requests {
		size += len(text)
	}
	for len(r.Requests) > 2 && size > maxBytes {
		size -= len(r.Requests[1])
		r.Requests = slices.Delete(r.Requests, 1, 2)
		r.Omitted++
	}
}

// changedFiles returns the files that the call changed, as its result names them.
func changedFiles(t *session.Tool) (files []session.FileRecord) {
	switch t.Name { // the tools whose results name the files that they changed
	case "edit", "write", "apply_patch":
	default:
		return nil
	}
	var result struct {
		Seen map[string]string `json:"seen"`
	}
	if t.State.Status != session.ToolCompleted || json.Unmarshal(t.State.Structured, &result) != nil {
		return nil
	}
	for path, hash := range result.Seen {
		files = append(files, session.FileRecord{Path: path, Hash: hash})
	}
	slices.SortFunc(files, func(a, b session.FileRecord) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// mergeFiles appends the changed files and removes their earlier entries.
func mergeFiles(files, changed []session.FileRecord) []session.FileRecord {
	files = slices.DeleteFunc(files, func(f session.FileRecord) bool {
		return slices.ContainsFunc(changed, func(c session.FileRecord) bool { return c.Path == f.Path })
	})
	return append(files, changed...)
}
