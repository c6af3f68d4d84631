package openaichat

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// details gathers OpenRouter's reasoning_details. Pieces of one text or summary are joined into one entry, as the
// vendor wants them back; every other entry and field is kept verbatim.
type details struct{ list []detail }

type detail struct {
	fields node
	key    string // the field that grows: text or summary; empty for entries that are whole
	grown  []byte // the inside of that field's JSON string
}

// growing is the field that a type of entry streams.
var growing = map[string]string{`"reasoning.text"`: "text", `"reasoning.summary"`: "summary"}

func (ds *details) add(v jsontext.Value) {
	entries, ok := variants(v)
	if !ok {
		return
	}
	for _, entry := range entries {
		var fields node
		if json.Unmarshal(entry, &fields, foreign) != nil {
			continue
		}
		ds.put(fields)
	}
}

func (ds *details) put(fields node) {
	key := growing[string(fields["type"])]
	if key != "" && len(ds.list) > 0 {
		last := &ds.list[len(ds.list)-1]
		if last.key == key && string(last.fields["index"]) == string(fields["index"]) {
			last.join(fields)
			return
		}
	}
	d := detail{fields: fields, key: key}
	if text := fields[key]; isText(text) {
		d.grown = append(d.grown, text[1:len(text)-1]...)
	}
	ds.list = append(ds.list, d)
}

func (d *detail) join(fields node) {
	if text := fields[d.key]; isText(text) {
		d.grown = append(d.grown, text[1:len(text)-1]...)
	}
	for name, v := range fields {
		if name != d.key && present(v) {
			d.fields[name] = v
		}
	}
}

// take returns what was gathered, as a JSON array, and starts anew; nil for nothing.
func (ds *details) take() jsontext.Value {
	if len(ds.list) == 0 {
		return nil
	}
	entries := make([]node, 0, len(ds.list))
	for _, d := range ds.list {
		if d.key != "" && (len(d.grown) > 0 || present(d.fields[d.key])) {
			d.fields[d.key] = jsontext.Value(`"` + string(d.grown) + `"`)
		}
		entries = append(entries, d.fields)
	}
	ds.list = nil
	return write(entries, nil)
}

// detailTexts returns the readable texts of a frame's details.
func detailTexts(v jsontext.Value) []jsontext.Value {
	var entries []node
	if json.Unmarshal(v, &entries, foreign) != nil {
		return nil
	}
	var out []jsontext.Value
	for _, e := range entries {
		if text := e[growing[string(e["type"])]]; isText(text) {
			out = append(out, text)
		}
	}
	return out
}
