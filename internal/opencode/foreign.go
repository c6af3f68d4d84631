package opencode

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// foreign is what an imported message said that our words do not: how it differs from what is shown of it. It is kept with
// the message, in its member foreignName, so that what is exported is what was imported.
type foreign struct {
	Info  *difference   `json:"info,omitzero"`
	Parts []foreignPart `json:"parts,omitempty"` // all of them in their order, where any differs
	// Without are the parts that are shown here and were not there, such as the frame of a step around a user's command.
	Without []session.PartID `json:"without,omitempty"`
}

// foreignPart is one part: as it is shown, with its difference, or whole, where we have none like it.
type foreignPart struct {
	ID         session.PartID `json:"id"`
	Difference *difference    `json:"difference,omitzero"`
	Whole      jsontext.Value `json:"whole,omitzero"`
}

const foreignName = "opencode"

// foreignTo is how what came from elsewhere differs from what is shown; nil if it does not.
func foreignTo(shown Message, info jsontext.Value, parts []jsontext.Value) *foreign {
	f := &foreign{Info: differenceOf(membersOf(shown.Info), members(info))}
	ours, differs := map[session.PartID]Part{}, len(parts) != len(shown.Parts)
	for _, p := range shown.Parts {
		ours[PartID(p)] = p
	}
	for i, raw := range parts {
		id := headOf(raw).ID
		p := foreignPart{ID: id}
		if v := ours[id]; v != nil {
			p.Difference = differenceOf(membersOf(v), members(raw))
			delete(ours, id) // of two with one id the second stands whole
		} else {
			p.Whole = raw
		}
		differs = differs || p.Difference != nil || p.Whole != nil || PartID(shown.Parts[i]) != id
		f.Parts = append(f.Parts, p)
	}
	for _, p := range shown.Parts {
		if ours[PartID(p)] != nil {
			f.Without = append(f.Without, PartID(p))
		}
	}
	if !differs {
		f.Parts = nil
	}
	if f.Info == nil && f.Parts == nil {
		return nil
	}
	return f
}

func headOf(raw jsontext.Value) (h Head) {
	_ = json.Unmarshal(raw, &h, jsontext.AllowInvalidUTF8(true)) // one without an id has none
	return h
}

// asImported shows a message as it was where it came from. What has become of it since stands.
func asImported(m *session.Head, v Message) Message {
	raw := members(m.Extra)[foreignName]
	var f foreign
	if raw == nil || json.Unmarshal(raw, &f) != nil {
		return v
	}
	if f.Info != nil {
		id, created := At(v.Info)
		info := membersOf(v.Info)
		f.Info.apply(info)
		v.Info = &foreignInfo{id: id, created: created, raw: object(info)}
	}
	if f.Parts == nil && f.Without == nil {
		return v
	}
	ours := map[session.PartID]Part{}
	for _, p := range v.Parts {
		ours[PartID(p)] = p
	}
	parts := make([]Part, 0, len(f.Parts))
	for _, p := range f.Parts {
		switch shown := ours[p.ID]; {
		case p.Whole != nil:
			parts = append(parts, &verbatim{headOf(p.Whole), p.Whole})
		case shown != nil && p.Difference != nil:
			part := membersOf(shown)
			p.Difference.apply(part)
			parts = append(parts, &verbatim{*shown.head(), object(part)})
		case shown != nil:
			parts = append(parts, shown)
		}
		if p.Whole == nil {
			delete(ours, p.ID)
		}
	}
	for _, p := range v.Parts { // come since
		if ours[PartID(p)] != nil && !f.lists(PartID(p)) {
			parts = append(parts, p)
		}
	}
	v.Parts = parts
	return v
}

// lists reports whether the part is told of: that it was there, or that it was not.
func (f *foreign) lists(id session.PartID) bool {
	return slices.Contains(f.Without, id) || slices.ContainsFunc(f.Parts, func(p foreignPart) bool { return p.ID == id })
}

// foreignInfo is what is said of an imported message.
type foreignInfo struct {
	id      session.MessageID
	created int64
	raw     jsontext.Value
}

func (*foreignInfo) info() {}

// MarshalJSON implements json.Marshaler.
func (i *foreignInfo) MarshalJSON() ([]byte, error) { return i.raw, nil }

// verbatim is an imported part.
type verbatim struct {
	Head
	raw jsontext.Value
}

// MarshalJSON implements json.Marshaler.
func (p *verbatim) MarshalJSON() ([]byte, error) { return p.raw, nil }
