// Package openapi generates the OpenAPI document of a contract from its Go types, so that the document and the code
// cannot differ.
//
//   - A struct is an object. Responses are closed: they have these members and no others. Requests are open, because
//     unknown members are ignored.
//   - omitzero and omitempty make a member optional. A tag enum:"a,b" lists the values of a string, and is:"number"
//     names the type of raw JSON.
//   - Types describes what Go's types do not say: the values of named strings and the types behind interfaces.
package openapi

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Operation is one operation of a contract.
type Operation struct {
	ID     string // operationId
	Method string
	Path   string // with its parameters in braces

	Summary, Description, Tag string

	Query        []Parameter
	Body         reflect.Type // nil has none
	BodyRequired bool

	Answer reflect.Type            // nil has none: status 204
	Media  string                  // of the answer; "" is JSON
	Fails  map[string]reflect.Type // by status; nil has no body

	BodySchema, AnswerSchema jsontext.Value // JSON Schemas in place of Body and Answer; nil has none
}

// Parameter is one of the query.
type Parameter struct {
	Name     string
	Type     reflect.Type
	Required bool
	Enum     []string
}

// Types describes what Go's types do not say.
type Types struct {
	Enums   map[reflect.Type][]string
	Members map[string]string // JSON Schemas of members of these names, whatever their type
	Unions  map[reflect.Type]Union
	Forms   map[reflect.Type]string   // JSON Schemas of types that write themselves; those in Names are components
	Names   map[reflect.Type]string   // of components that differ from the names of their types
	Further map[string]jsontext.Value // components that only JSON Schemas refer to
}

// Info is about the whole document.
type Info struct {
	Title, Version, Description string

	Tags map[string]string // what the operations of each tag are about
}

// Union lists the types behind an interface, or in an envelope.
type Union struct {
	By   string                  // the member whose value tells them apart
	Of   map[string]reflect.Type // by that value
	In   string                  // of an envelope: the member that holds what Of says
	Also []reflect.Type          // further ones, without that member
	Open bool                    // it is part of requests only
}

// object is a JSON object of the document.
type object = map[string]any

// EncodeDocument returns the document as indented JSON. Equal contracts have equal documents.
func EncodeDocument(info Info, operations []Operation, t Types) ([]byte, error) {
	b := &builder{types: t, schemas: object{}, names: map[reflect.Type]string{}}
	paths, tags := object{}, map[string]bool{}
	for _, o := range operations {
		at, _ := paths[o.Path].(object)
		if at == nil {
			at = object{}
			paths[o.Path] = at
		}
		at[strings.ToLower(o.Method)] = b.describeOperation(o)
		tags[o.Tag] = true
	}
	for name, schema := range t.Further {
		b.schemas[name] = schema
	}
	doc := object{
		"openapi": "3.1.0", "paths": paths, "tags": describeTags(tags, info.Tags),
		"info": object{
			"title": info.Title, "version": info.Version, "description": info.Description,
			"license": object{"name": "MIT", "identifier": "MIT"},
		},
		"servers":    []object{{"url": "http://127.0.0.1:4096", "description": "the default address of cairn serve"}},
		"components": object{"schemas": b.schemas, "securitySchemes": describeSchemes()},
		"security":   []object{{"basic": []string{}}, {"bearer": []string{}}, {}},
	}
	out, err := json.Marshal(doc, json.Deterministic(true), jsontext.WithIndent(" "))
	return append(out, '\n'), err
}

func describeTags(used map[string]bool, descriptions map[string]string) (out []object) {
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, object{"name": name, "description": descriptions[name]})
	}
	return out
}

// describeSchemes describes how callers identify themselves; processes of the same user may need neither.
func describeSchemes() object {
	return object{
		"basic":  object{"type": "http", "scheme": "basic", "description": "the server's user name and password"},
		"bearer": object{"type": "http", "scheme": "bearer", "description": "a token of cairn token"},
	}
}

func (b *builder) describeOperation(o Operation) object {
	out := object{
		"operationId": o.ID, "summary": o.Summary, "description": o.Description, "tags": []string{o.Tag},
	}
	if ps := b.describeParameters(o); len(ps) > 0 {
		out["parameters"] = ps
	}
	// A body is described by its type, or by the schema of a data file.
	var body any
	if body = o.BodySchema; o.Body != nil {
		body = b.describeRequest(o.Body)
	}
	if o.Body != nil || o.BodySchema != nil {
		out["requestBody"] = object{"content": describeContent("application/json", body), "required": o.BodyRequired}
	}
	// Failures first, then the one success: 200 with a content, or 204.
	answers := object{}
	for status, t := range o.Fails {
		code, _ := strconv.Atoi(status)
		answers[status] = b.describeResponse(http.StatusText(code), "application/json", t)
	}
	switch {
	case o.AnswerSchema != nil:
		answers["200"] = object{"description": "Done", "content": describeContent("application/json", o.AnswerSchema)}
	case o.Answer == nil:
		answers["204"] = object{"description": "Done"}
	default:
		media := o.Media
		if media == "" {
			media = "application/json"
		}
		answers["200"] = b.describeResponse("Done", media, o.Answer)
	}
	out["responses"] = answers
	return out
}

func (b *builder) describeResponse(words, media string, t reflect.Type) object {
	out := object{"description": words}
	if t != nil {
		out["content"] = describeContent(media, b.describeType(t))
	}
	return out
}

func describeContent(media string, schema any) object {
	return object{media: object{"schema": schema}}
}

func (b *builder) describeParameters(o Operation) (out []object) {
	for part := range strings.SplitSeq(o.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(
				out,
				object{
					"name":     strings.TrimSuffix(name, "}"),
					"in":       "path",
					"required": true,
					"schema":   object{"type": "string"},
				},
			)
		}
	}
	for _, p := range o.Query {
		schema := b.describeRequest(p.Type)
		if p.Enum != nil {
			schema["enum"] = p.Enum
		}
		said := object{"name": p.Name, "in": "query", "required": p.Required, "schema": schema}
		if p.Type.Kind() == reflect.Struct && schema["type"] == "object" {
			said["style"], said["explode"] = "deepObject", true
		}
		out = append(out, said)
	}
	return out
}
