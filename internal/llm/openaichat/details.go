package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// details collects OpenRouter's reasoning_details. Pieces of one text or summary are joined into one entry, as the
// vendor requires them back; other entries and fields stay verbatim.
type details struct{ list []detail }

type detail struct {
	fields wire.Object
	key    string // the growing field: text or summary; "" for complete entries
	grown  []byte // the inside of the growing field's JSON string
}

// growingField maps entry types to the field that they stream.
var growingField = map[string]string{`"reasoning.text"`: "text", `"reasoning.summary"`: "summary"}

func (ds *details) add(v jsontext.Value) {
	entries, ok := wire.ReadList(v)
	if !ok {
		return
	}
	for _, entry := range entries {
		if fields, ok := wire.ReadObject(entry); ok {
			ds.addEntry(fields)
		}
	}
}

func (ds *details) addEntry(fields wire.Object) {
	key := growingField[string(fields["type"])]
	if key != "" && len(ds.list) > 0 {
		last := &ds.list[len(ds.list)-1]
		if last.key == key && string(last.fields["index"]) == string(fields["index"]) {
			last.join(fields)
			return
		}
	}
	d := detail{fields: fields, key: key}
	if text := fields[key]; wire.IsNonEmptyString(text) {
		d.grown = append(d.grown, text[1:len(text)-1]...)
	}
	ds.list = append(ds.list, d)
}

func (d *detail) join(fields wire.Object) {
	if text := fields[d.key]; wire.IsNonEmptyString(text) {
		d.grown = append(d.grown, text[1:len(text)-1]...)
	}
	for name, v := range fields {
		if name != d.key && wire.IsPresent(v) {
			d.fields[name] = v
		}
	}
}

// takeAll returns the collected entries as a JSON array and resets ds; nil for no entries.
func (ds *details) takeAll() jsontext.Value {
	if len(ds.list) == 0 {
		return nil
	}
	entries := make([]wire.Object, 0, len(ds.list))
	for _, d := range ds.list {
		if d.key != "" && (len(d.grown) > 0 || wire.IsPresent(d.fields[d.key])) {
			d.fields[d.key] = jsontext.Value(`"` + string(d.grown) + `"`)
		}
		entries = append(entries, d.fields)
	}
	ds.list = nil
	return wire.MarshalOr(entries, nil)
}

// detailTexts returns the readable texts of a frame's details.
func detailTexts(v jsontext.Value) []jsontext.Value {
	entries, _ := wire.ReadList(v)
	var out []jsontext.Value
	for _, entry := range entries {
		e, _ := wire.ReadObject(entry)
		if text := e[growingField[string(e["type"])]]; wire.IsNonEmptyString(text) {
			out = append(out, text)
		}
	}
	return out
}
