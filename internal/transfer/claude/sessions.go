package claude

import (
	"cmp"
	"strings"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// conversation is a session of the file: the newest leaf of its rows.
type conversation struct {
	id, parent string
	leaf       int // index of the newest row without a reply
}

// sessions returns the sessions of the file.
func (f *file) sessions() []foreign.Session {
	// Find the leaves, and group those of subagents.
	var main, sides []*conversation
	for i, r := range f.rows {
		if r.id == "" || r.children > 0 {
			continue
		}
		leaf := f.spokenFrom(i)
		if leaf < 0 {
			continue
		}
		if f.rows[leaf].side {
			sides = f.addLeaf(sides, f.sideOf(leaf), leaf)
		} else {
			main = f.addLeaf(main, conversation{id: cmp.Or(f.rows[leaf].session, f.name)}, leaf)
		}
	}
	main = f.withoutContinued(main)
	all := append(main, sides...)
	if len(all) == 0 {
		if len(f.problems) == 0 {
			return nil
		}
		all = []*conversation{{id: f.name, leaf: -1}}
	}
	// Each row counts for one session, and the problems of the file for the newest.
	builders := make(map[string]*foreign.Builder, len(all))
	newest := f.newest(all)
	for _, c := range all {
		builders[c.id] = foreign.NewBuilder(foreign.Session{Program: foreign.Claude, ID: c.id, ParentID: c.parent})
	}
	for i, r := range f.rows {
		id := cmp.Or(r.session, f.name)
		if r.side {
			id = f.sideOf(i).id
		}
		b := builders[id]
		if b == nil {
			b = builders[newest.id]
		}
		b.Row(r.at)
	}
	for _, p := range f.problems {
		builders[newest.id].Problem(p.Row, p.Field, p.Reason)
	}
	out := make([]foreign.Session, len(all))
	for i, c := range all {
		out[i] = f.build(c, builders[c.id])
	}
	return out
}

// spokenFrom returns the row itself if it is part of the conversation, else the nearest one before it, -1 without one.
func (f *file) spokenFrom(i int) int {
	for i >= 0 && !f.rows[i].isSpoken() {
		i = f.rows[i].parent
	}
	return i
}

// sideOf returns the session of a subagent's row: that of its agent, else that of the first row of its tree.
func (f *file) sideOf(i int) conversation {
	r := f.rows[i]
	name := r.agent
	if name != "" {
		name = "agent-" + name
	} else if strings.HasPrefix(f.name, "agent-") {
		name = f.name
	} else {
		for f.rows[i].parent >= 0 {
			i = f.rows[i].parent
		}
		name = f.rows[i].id
	}
	return conversation{id: r.session + "/" + name, parent: r.session}
}

// addLeaf adds a leaf of a session. The newest leaf counts.
func (f *file) addLeaf(list []*conversation, c conversation, leaf int) []*conversation {
	for _, have := range list {
		if have.id == c.id {
			if f.rows[leaf].at >= f.rows[have.leaf].at {
				have.leaf = leaf
			}
			return list
		}
	}
	c.leaf = leaf
	return append(list, &c)
}

// withoutContinued removes the sessions that another one continues: only an abandoned branch of theirs has a leaf of
// their own.
func (f *file) withoutContinued(list []*conversation) []*conversation {
	newest := map[string]int64{} // by session: its newest row in the conversation of another
	for _, c := range list {
		for _, r := range f.chain(c.leaf) {
			if id := cmp.Or(r.session, f.name); id != c.id {
				newest[id] = max(newest[id], r.at)
			}
		}
	}
	var out []*conversation
	for _, c := range list {
		if at, ok := newest[c.id]; !ok || f.rows[c.leaf].at >= at {
			out = append(out, c)
		}
	}
	return out
}

// newest returns the session with the newest leaf. Subagents count only if there are no others.
func (f *file) newest(all []*conversation) *conversation {
	best := all[0]
	for _, c := range all {
		if c.parent == "" && best.leaf >= 0 && f.rows[c.leaf].at > f.rows[best.leaf].at {
			best = c
		}
	}
	return best
}

// build makes the messages of the session.
func (f *file) build(c *conversation, b *foreign.Builder) foreign.Session {
	s := b.Session()
	t := &transcript{file: f, builder: b, turns: map[string]bool{}}
	if c.leaf >= 0 {
		t.rows = f.chain(c.leaf)
	}
	for _, r := range t.rows {
		s.Directory = cmp.Or(s.Directory, r.Text("cwd"))
		s.Version = cmp.Or(r.Text("version"), s.Version)
		s.Title = cmp.Or(f.titles.summary[r.id], s.Title)
	}
	if c.parent == "" {
		s.Title = cmp.Or(f.titles.custom[c.id], f.titles.generated[c.id], s.Title)
	}
	t.convert()
	return b.Done()
}
