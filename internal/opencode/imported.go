package opencode

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// importedForm is the difference between an imported message and what this package shows of it. It is stored with the
// message under importedFormKey, so that an export reproduces the import.
type importedForm struct {
	Info  *objectDiff    `json:"info,omitzero"`
	Parts []importedPart `json:"parts,omitempty"` // all parts in order, if any of them differs
	// Without are parts that are shown but were not imported, such as the step around a user command.
	Without []session.PartID `json:"without,omitempty"`
}

// importedPart is one part: its difference from what is shown, or the whole part if nothing corresponds to it.
type importedPart struct {
	ID         session.PartID `json:"id"`
	Difference *objectDiff    `json:"difference,omitzero"`
	Whole      jsontext.Value `json:"whole,omitzero"`
}

const importedFormKey = "opencode"

// importedFormOf returns the difference between the imported and the shown form; nil if they are equal.
func importedFormOf(shown Message, info jsontext.Value, parts []jsontext.Value) *importedForm {
	f := &importedForm{Info: diffObjects(membersOf(shown.Info), membersOfObject(info))}
	// Match the imported parts with the shown ones by id.
	ours, differs := map[session.PartID]Part{}, len(parts) != len(shown.Parts)
	for _, p := range shown.Parts {
		ours[PartID(p)] = p
	}
	for i, raw := range parts {
		id := headOf(raw).ID
		p := importedPart{ID: id}
		if v := ours[id]; v != nil {
			p.Difference = diffObjects(membersOf(v), membersOfObject(raw))
			delete(ours, id) // of two parts with the same id the second is kept whole
		} else {
			p.Whole = raw
		}
		// Parts in another order differ, too. The index is in range, because other lengths differ already.
		differs = differs || p.Difference != nil || p.Whole != nil || PartID(shown.Parts[i]) != id
		f.Parts = append(f.Parts, p)
	}
	// Shown parts without an imported counterpart are omitted when the message is restored.
	for _, p := range shown.Parts {
		if ours[PartID(p)] != nil {
			f.Without = append(f.Without, PartID(p))
		}
	}
	// Store nothing for what is equal.
	if !differs {
		f.Parts = nil
	}
	if f.Info == nil && f.Parts == nil {
		return nil
	}
	return f
}

func headOf(raw jsontext.Value) (h Head) {
	_ = json.Unmarshal(raw, &h, jsontext.AllowInvalidUTF8(true)) // the id of an invalid part stays empty
	return h
}

// restoreImported shows an imported message in its original form, with the changes made since.
func restoreImported(m *session.Head, v Message) Message {
	raw := membersOfObject(m.Extra)[importedFormKey]
	var f importedForm
	if raw == nil || json.Unmarshal(raw, &f) != nil {
		return v
	}
	return f.restore(v)
}

// restore returns the message in its original form, with the changes made since. A nil form changes nothing.
func (f *importedForm) restore(v Message) Message {
	if f == nil {
		return v
	}
	// Restore the members of the message itself.
	if f.Info != nil {
		id, created := IDAndTime(v.Info)
		info := membersOf(v.Info)
		f.Info.apply(info)
		v.Info = &importedInfo{id: id, created: created, raw: objectOf(info)}
	}
	if f.Parts == nil && f.Without == nil {
		return v
	}
	// Rebuild the parts in their imported order; a part that was removed since stays removed.
	ours := map[session.PartID]Part{}
	for _, p := range v.Parts {
		ours[PartID(p)] = p
	}
	parts := make([]Part, 0, len(f.Parts))
	for _, p := range f.Parts {
		switch shown := ours[p.ID]; {
		case p.Whole != nil:
			parts = append(parts, &rawPart{headOf(p.Whole), p.Whole})
		case shown != nil && p.Difference != nil:
			part := membersOf(shown)
			p.Difference.apply(part)
			parts = append(parts, &rawPart{*shown.asHead(), objectOf(part)})
		case shown != nil:
			parts = append(parts, shown)
		}
		if p.Whole == nil {
			delete(ours, p.ID)
		}
	}
	for _, p := range v.Parts { // added after the import
		if ours[PartID(p)] != nil && !f.hasPart(PartID(p)) {
			parts = append(parts, p)
		}
	}
	v.Parts = parts
	return v
}

// hasPart reports whether the form names the part, as present or as absent.
func (f *importedForm) hasPart(id session.PartID) bool {
	return slices.Contains(f.Without, id) ||
		slices.ContainsFunc(f.Parts, func(p importedPart) bool { return p.ID == id })
}

// importedInfo is the info of an imported message.
type importedInfo struct {
	id      session.MessageID
	created int64
	raw     jsontext.Value
}

func (*importedInfo) info() {}

// MarshalJSON implements json.Marshaler.
func (i *importedInfo) MarshalJSON() ([]byte, error) { return i.raw, nil }

// rawPart is an imported part as raw JSON.
type rawPart struct {
	Head
	raw jsontext.Value
}

// MarshalJSON implements json.Marshaler.
func (p *rawPart) MarshalJSON() ([]byte, error) { return p.raw, nil }
