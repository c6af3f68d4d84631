package wire

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/option"
)

// protected reports whether a field of the body is one that the protocols fill (spec/v2 §20.1 LM-2).
func protected(name string) bool {
	o := option.Find(name)
	return o.Domain == option.Reserved || o.Domain == option.Generation || o.Name == "thinking"
}

// Overlay lays the request's compatibility fields over out. The error names a field that belongs to the protocol.
func Overlay(out map[string]jsontext.Value, req *llm.Request) error {
	for _, name := range slices.Sorted(maps.Keys(req.Body)) {
		if protected(name) {
			return Invalid("the body field %q belongs to the protocol and cannot be set directly; use the setting of the same meaning instead", name)
		}
		out[name] = req.Body[name]
	}
	return nil
}

// Stash returns what one namespace keeps in m; nil if nothing or if it is not readable.
func Stash(m llm.Metadata, namespace string) Object {
	o, _ := ReadObject(m[namespace])
	return o
}

// Metadata is the inverse of Stash; nil for nothing to keep.
func Metadata(namespace string, fields Object) llm.Metadata {
	if len(fields) == 0 {
		return nil
	}
	v := Write(fields, nil)
	if v == nil {
		return nil
	}
	return llm.Metadata{namespace: v}
}
