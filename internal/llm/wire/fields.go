package wire

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/option"
)

// isProtected reports whether the protocols own a field of the body, so that it cannot be set directly.
func isProtected(name string) bool {
	o := option.Find(name)
	return o.Domain == option.Reserved || o.Domain == option.Generation || o.Name == "thinking"
}

// OverlayBody copies the request's extra body fields over out. It returns an error for a field that the protocol owns.
func OverlayBody(out map[string]jsontext.Value, req *llm.Request) error {
	for _, name := range slices.Sorted(maps.Keys(req.Body)) {
		if isProtected(name) {
			return NewInvalidRequest(
				"the body field %q belongs to the protocol; use the setting of the same meaning instead", name,
			)
		}
		out[name] = req.Body[name]
	}
	return nil
}

// ReadMetadata returns the fields of one namespace; nil if they are missing or unreadable.
func ReadMetadata(m llm.Metadata, namespace string) Object {
	o, _ := ReadObject(m[namespace])
	return o
}

// NewMetadata returns metadata with the fields in one namespace; nil if there are no fields.
func NewMetadata(namespace string, fields Object) llm.Metadata {
	if len(fields) == 0 {
		return nil
	}
	v := MarshalOr(fields, nil)
	if v == nil {
		return nil
	}
	return llm.Metadata{namespace: v}
}
