package opencode

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

// PartChange is a client's request to change a part: the part's new content.
type PartChange struct {
	PartInput
	SessionID session.ID        `json:"sessionID"`
	MessageID session.MessageID `json:"messageID"`
}

// Check refuses a change that is for another part than p.
func (c *PartChange) Check(p Part) error {
	is := p.asHead()
	for _, x := range []struct{ field, got, want string }{
		{"id", string(c.ID), string(is.ID)},
		{"sessionID", string(c.SessionID), string(is.SessionID)},
		{"messageID", string(c.MessageID), string(is.MessageID)},
		{"type", c.Type, is.Type},
	} {
		if x.got != x.want {
			return session.Errorf(session.CodeInvalid, "%s must be that of the part, %q, got %q", x.field, x.want, x.got).
				At(x.field)
		}
	}
	if (is.Type == "text" || is.Type == "reasoning") && c.Text == nil {
		return session.Errorf(session.CodeInvalid, "Missing key").At("text")
	}
	return nil
}

// SplitPrompt returns the prompt with the part replaced by to, or removed if to is nil.
func SplitPrompt(u *session.User, part session.PartID, to *PartInput) (session.Prompt, error) {
	p := session.Prompt{Agent: u.Agent, Model: u.Model, Format: u.Format, System: u.System}
	for _, v := range promptParts("", u) {
		in, err := partInput(v)
		if err != nil {
			return p, err
		}
		if in.ID == part && to == nil || isHint(v) {
			continue
		}
		if in.Type == string(session.PartAgent) {
			in.hint = derivePartID(string(in.ID), 0)
		}
		if in.ID == part {
			in = *to
		}
		if err := in.appendTo(&p, ""); err != nil {
			return p, err
		}
		if f, ok := v.(*FilePart); ok { // what our record says of it beside that
			j := slices.IndexFunc(u.Files, func(o session.File) bool { return o.URI == f.URL && o.URI == in.URL })
			if j >= 0 && in.ID != part {
				p.Files[len(p.Files)-1] = u.Files[j]
				p.Files[len(p.Files)-1].Text = "" // it is a part by now
			}
		}
	}
	return p, nil
}

// isHint reports whether the part is the text after a mentioned agent, which the mention itself stands for.
func isHint(p Part) bool {
	t, ok := p.(*TextPart)
	return ok && t.Synthetic && strings.HasPrefix(t.Text, session.MentionText(session.AgentMention{}))
}

// partInput returns the part in the form in which a client sends it.
func partInput(p Part) (in PartInput, err error) {
	b, err := json.Marshal(p)
	if err != nil {
		return in, err
	}
	return in, json.Unmarshal(b, &in)
}

// editEvents announces a changed prompt: the named piece, or all pieces.
func (f *Fold) editEvents(m session.MessageID, part session.PartID, p session.Prompt, at int64) (out []Event) {
	u := session.Begin(&session.Prompted{MessageID: m, Prompt: p}, 0).(*session.User)
	if f.asked != nil && f.asked.ID == m {
		f.asked.Apply(&session.MessageEdited{MessageID: m, Prompt: p})
	}
	for _, v := range promptParts(f.Session.ID, u) {
		if part == "" || PartID(v) == part {
			out = append(out, f.partUpdated(v, at))
		}
	}
	if len(out) == 0 && part != "" {
		return []Event{f.partRemoved(m, part)}
	}
	return out
}

func (f *Fold) partRemoved(m session.MessageID, part session.PartID) Event {
	return Event{Type: "message.part.removed", Properties: PartGone{f.Session.ID, m, part}, Durable: true}
}
