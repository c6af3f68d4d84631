// Package claude reads the transcripts of Claude Code: files of JSON lines that form trees by uuid and parentUuid.
package claude

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// row is a line of a transcript.
type row struct {
	foreign.Object
	line    string // its name in problems without a uuid
	kind    string // its type
	id      string // uuid; "" for rows outside of the tree
	session string
	agent   string // of a sidechain, "" if the row does not name it
	side    bool   // it belongs to a subagent
	at      int64

	parent   int // index of the row before it in the conversation, -1 without one
	children int
}

// name returns the name of the row for problems and ids.
func (r *row) name() string {
	if r.id != "" {
		return r.id
	}
	return r.line
}

// isSpoken reports whether the row is part of the conversation.
func (r *row) isSpoken() bool {
	switch r.kind {
	case "user", "assistant":
		return true
	case "system":
		return r.isBoundary() || r.Text("subtype") == "local_command"
	case "attachment":
		return r.Object.Object("attachment").Text("type") == "queued_command"
	}
	return false
}

// isBoundary reports whether the row ends the history that a summary replaces.
func (r *row) isBoundary() bool { return r.kind == "system" && r.Text("subtype") == "compact_boundary" }

// file is a transcript file that was read.
type file struct {
	name     string // of the file, without folder and ending
	rows     []*row
	byID     map[string]int
	results  map[string]result // by the id of the call
	answers  map[string][]int  // rows of one message of the provider, by its id
	titles   titles
	problems []foreign.Problem
}

// Read reads a transcript and returns its sessions, each before its subagents. name is the name of the file, which
// names the session if no row does. The error is the reader's.
func Read(r io.Reader, name string) ([]foreign.Session, error) {
	f := &file{
		name: strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), ".jsonl"),
		byID: map[string]int{}, results: map[string]result{}, answers: map[string][]int{},
		titles: titles{map[string]string{}, map[string]string{}, map[string]string{}},
	}
	if err := foreign.ReadLines(r, f.addLine); err != nil {
		return nil, err
	}
	f.link()
	return f.sessions(), nil
}

// addLine takes a line in. A row with a uuid that came before replaces it, as Claude Code does.
func (f *file) addLine(l foreign.Line) {
	if l.Problem != "" {
		f.problems = append(f.problems, foreign.Problem{Row: l.Name(), Reason: l.Problem})
	}
	if l.Text == nil {
		f.rows = append(f.rows, &row{line: l.Name(), parent: -1})
		return
	}
	o, reason := foreign.ParseObject(l.Text)
	if reason != "" {
		f.problems = append(f.problems, foreign.Problem{Row: l.Name(), Reason: reason})
		f.rows = append(f.rows, &row{line: l.Name(), parent: -1})
		return
	}
	delete(o, "toolUseResult") // repeats the result, often with whole files
	n := &row{
		Object: o, line: l.Name(), kind: o.Text("type"), id: o.Text("uuid"), session: o.Text("sessionId"),
		agent: o.Text("agentId"), side: o.Bool("isSidechain"), at: o.Time("timestamp"), parent: -1,
	}
	if i, ok := f.byID[n.id]; ok && n.id != "" {
		f.rows = append(f.rows, &row{line: l.Name(), session: n.session, parent: -1}) // counted, without content
		f.rows[i] = n
		return
	}
	if n.id != "" {
		f.byID[n.id] = len(f.rows)
	}
	f.rows = append(f.rows, n)
}

// link finds the parent of each row, the rows of each answer, the results of calls and the titles.
func (f *file) link() {
	newest := map[bool]int{true: -1, false: -1} // by side: the newest row of the tree so far
	for i, r := range f.rows {
		if !f.titles.add(r) && !isKnown(r.kind) && r.Object != nil {
			f.problems = append(f.problems, foreign.Problem{
				Row: r.name(), Field: "type", Reason: "the type of the row is unknown",
			})
		}
		if r.id == "" {
			continue
		}
		f.linkParent(i, newest[r.side])
		newest[r.side] = i
		switch r.kind {
		case "assistant":
			if id := r.Object.Object("message").Text("id"); id != "" {
				key := answerKey(r, id)
				f.answers[key] = append(f.answers[key], i)
			}
		case "user":
			f.addResults(r)
		}
	}
	f.cutCycles()
	for _, r := range f.rows {
		if r.parent >= 0 {
			f.rows[r.parent].children++
		}
	}
}

// answerKey returns the key of an answer. A subagent and the session that started it do not share answers.
func answerKey(r *row, id string) string {
	if r.side {
		return "side " + r.agent + " " + id
	}
	return id
}

// linkParent sets the parent of row i. before is the row of the tree before it in the file, -1 without one.
func (f *file) linkParent(i, before int) {
	r := f.rows[i]
	parent := r.Text("parentUuid")
	if parent == "" {
		parent = r.Text("logicalParentUuid")
	}
	at, found := f.byID[parent]
	switch {
	case parent == "" && r.isBoundary():
		r.parent = before // older versions do not name it
	case parent == "":
	case found && at != i:
		r.parent = at
	case before >= 0:
		// The row between was unreadable or never written: a gap must not cost all that came before.
		r.parent = before
		f.problems = append(f.problems, foreign.Problem{
			Row: r.name(), Field: "parentUuid",
			Reason: "the row that it names is missing; the row before it in the file was taken",
		})
	}
}

// cutCycles removes parents that lead back to their row.
func (f *file) cutCycles() {
	const open, done = 1, 2
	state := make([]uint8, len(f.rows))
	for i := range f.rows {
		var path []int
		at := i
		for at >= 0 && state[at] == 0 {
			state[at], path = open, append(path, at)
			at = f.rows[at].parent
		}
		if at >= 0 && state[at] == open {
			last := f.rows[path[len(path)-1]]
			last.parent = -1
			f.problems = append(f.problems, foreign.Problem{
				Row: last.name(), Field: "parentUuid", Reason: "the row is its own ancestor",
			})
		}
		for _, n := range path {
			state[n] = done
		}
	}
}

// chain returns the rows of the conversation that ends with the leaf, oldest first.
func (f *file) chain(leaf int) []*row {
	var out []*row
	for at := leaf; at >= 0; at = f.rows[at].parent {
		if f.rows[at].isSpoken() {
			out = append(out, f.rows[at])
		}
	}
	slices.Reverse(out)
	return out
}

// isKnown reports whether the type is one that Claude Code writes.
func isKnown(kind string) bool {
	switch kind {
	case "user", "assistant", "system", "attachment", "progress", "summary", "custom-title", "ai-title", "tag",
		"agent-name", "agent-color", "agent-setting", "pr-link", "mode", "permission-mode", "last-prompt",
		"file-history-snapshot", "attribution-snapshot", "queue-operation", "speculation-accept", "content-replacement",
		"worktree-state", "task-summary", "bridge-session", "marble-origami-commit", "marble-origami-snapshot":
		return true
	}
	return false
}

// titles are the titles that a file gives.
type titles struct {
	custom, generated map[string]string // by session
	summary           map[string]string // by uuid of the leaf
}

// add takes the title of a row, if it is one of a title.
func (t *titles) add(r *row) bool {
	switch r.kind {
	case "custom-title":
		t.custom[r.session] = r.Text("customTitle")
	case "ai-title":
		t.generated[r.session] = r.Text("aiTitle")
	case "summary":
		t.summary[r.Text("leafUuid")] = r.Text("summary")
	default:
		return false
	}
	return true
}
