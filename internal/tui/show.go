package tui

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/peer"
)

// part is how much of a part is on the screen.
type part struct {
	text  bool // what the model says
	shown int  // bytes of it
	begun bool // a call
	done  bool
	torn  bool // something of it may not have been heard: it is shown when it is whole
}

func read(raw jsontext.Value, into any) bool {
	return len(raw) > 0 && json.Unmarshal(raw, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil
}

func (t *talk) known(raw jsontext.Value) (p *part, s peer.Shown, ok bool) {
	if !read(raw, &s) || s.SessionID != t.id || t.id == "" {
		return nil, s, false
	}
	if p = t.parts[s.ID]; p == nil {
		p = &part{}
		t.parts[s.ID] = p
	}
	return p, s, true
}

// part shows what is new of a part.
func (t *talk) part(raw jsontext.Value) {
	p, s, ok := t.known(raw)
	if !ok || p.done {
		return
	}
	switch {
	case s.Type == "tool":
		t.tool(p, s)
	case s.Type != "text" || s.Synthetic:
	case t.roles[s.MessageID] == "user":
		p.done = true
		t.others(s)
	case t.roles[s.MessageID] == "assistant":
		t.text(p, s.Text)
		if s.Time.End != 0 {
			p.done = true
			t.Screen.SaidAll()
		}
	}
}

// text shows what of the text is not on the screen.
func (t *talk) text(p *part, text string) {
	p.text = true
	if len(text) > p.shown {
		t.Screen.Said(text[p.shown:])
		p.shown = len(text)
	}
}

// delta shows what comes of a text that was heard from its beginning.
func (t *talk) delta(id, text string) {
	if p := t.parts[id]; p != nil && p.text && !p.done && !p.torn {
		t.Screen.Said(text)
		p.shown += len(text)
	}
}

// tool shows a call once, when it begins, and again if it fails.
func (t *talk) tool(p *part, s peer.Shown) {
	c := Call{Tool: s.Tool, Input: s.State.Input}
	switch s.State.Status {
	case "running":
	case "completed":
		p.done, c.Ended = true, true
	case "error":
		if p.done, c.Ended, c.Failed = true, true, s.State.Error; c.Failed == "" {
			c.Failed = "it failed"
		}
	default: // its input is not whole
		return
	}
	if !p.begun || c.Failed != "" {
		t.Screen.Called(c)
	}
	p.begun = true
}

// others shows a prompt that was not typed here.
func (t *talk) others(s peer.Shown) {
	if t.own[s.MessageID] {
		return
	}
	for i, m := range t.mine {
		if m.any || m.text == s.Text {
			t.mine = append(t.mine[:i], t.mine[i+1:]...)
			t.own[s.MessageID] = true
			return
		}
	}
	t.Screen.Told(s.Text)
}

// tear notes a part that is not whole: some of what comes of it may have passed already.
func (t *talk) tear(raw jsontext.Value) {
	if p, _, ok := t.known(raw); ok && !p.done {
		p.torn = true
	}
}

// skip leaves a part out that was there before.
func (t *talk) skip(raw jsontext.Value) {
	p, s, ok := t.known(raw)
	if !ok {
		return
	}
	p.text, p.shown, p.torn = s.Type == "text", len(s.Text), true
	p.done = s.Time.End != 0 || t.roles[s.MessageID] == "user" || s.State.Status == "completed" || s.State.Status == "error"
}
