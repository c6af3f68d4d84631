package openapi_test

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/server/openapi"
)

type (
	color  string
	number struct{}
	shape  interface{ shape() }
	head   struct {
		Kind string `json:"kind"`
	}
	circle struct {
		head
		Radius int64 `json:"radius"`
	}
	square struct {
		head
		Side  *float64 `json:"side,omitzero"`
		Inner []shape  `json:"inner,omitempty"`
	}
	drawing struct {
		Shapes []shape           `json:"shapes"`
		Color  color             `json:"color"`
		Size   string            `json:"size" enum:"s,l"`
		Sold   bool              `json:"-"`
		Price  number            `json:"price"`
		More   jsontext.Value    `json:"more,omitzero"`
		Count  jsontext.Value    `json:"count,omitzero" is:"number"`
		Notes  map[string]string `json:"notes"`
	}
	envelope struct {
		Type string `json:"type"`
		Held any    `json:"held"`
	}
)

func is[T any]() reflect.Type { return reflect.TypeFor[T]() }

// What the types say is what the document says: answers closed and in components, requests open and in place.
func TestDocument(t *testing.T) {
	doc, err := openapi.EncodeDocument("T", "1", []openapi.Operation{
		{
			ID: "draw", Method: "POST", Path: "/a/{id}", Body: is[head](), Answer: is[drawing](), Fails: map[string]reflect.Type{"404": nil},
			Query: []openapi.Parameter{{Name: "q", Type: is[string](), Enum: []string{"x"}, Required: true}},
		},
		{ID: "follow", Method: "GET", Path: "/e", Answer: is[envelope](), Media: "text/event-stream"},
		{ID: "forget", Method: "DELETE", Path: "/e"},
	}, openapi.Types{
		Enums: map[reflect.Type][]string{is[color](): {"red", "blue"}},
		Forms: map[reflect.Type]string{is[number](): `{"type":"number"}`},
		Unions: map[reflect.Type]openapi.Union{
			is[shape]():    {By: "kind", Of: map[string]reflect.Type{"circle": is[circle](), "square": is[square]()}},
			is[envelope](): {By: "type", In: "held", Of: map[string]reflect.Type{"a.done": is[head]()}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{
"/a/{id}":{"post":{"operationId":"draw","parameters":[
 {"name":"id","in":"path","required":true,"schema":{"type":"string"}},
 {"name":"q","in":"query","required":true,"schema":{"type":"string","enum":["x"]}}],
 "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"kind":{"type":"string"}}}}}},
 "responses":{"200":{"description":"Done","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Drawing"}}}},"404":{"description":"Refused"}}}},
"/e":{"get":{"operationId":"follow","responses":{"200":{"description":"Done","content":{"text/event-stream":{"schema":{"$ref":"#/components/schemas/Envelope"}}}}}},
 "delete":{"operationId":"forget","responses":{"204":{"description":"Done"}}}}},
"components":{"schemas":{
"Drawing":{"type":"object","additionalProperties":false,"required":["color","notes","price","shapes","size"],"properties":{
 "shapes":{"type":"array","items":{"$ref":"#/components/schemas/Shape"}},"color":{"type":"string","enum":["red","blue"]},
 "size":{"type":"string","enum":["s","l"]},"price":{"type":"number"},"more":{},"count":{"type":"number"},
 "notes":{"type":"object","additionalProperties":{"type":"string"}}}},
"Shape":{"anyOf":[{"$ref":"#/components/schemas/Circle"},{"$ref":"#/components/schemas/Square"}]},
"Circle":{"type":"object","additionalProperties":false,"required":["kind","radius"],"properties":{"kind":{"type":"string","enum":["circle"]},"radius":{"type":"integer"}}},
"Square":{"type":"object","additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string","enum":["square"]},
 "side":{"type":"number"},"inner":{"type":"array","items":{"$ref":"#/components/schemas/Shape"}}}},
"Head":{"type":"object","additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string"}}},
"Envelope":{"anyOf":[{"$ref":"#/components/schemas/EnvelopeADone"}]},
"EnvelopeADone":{"type":"object","additionalProperties":false,"required":["held","type"],"properties":{"type":{"type":"string","enum":["a.done"]},"held":{"$ref":"#/components/schemas/Head"}}}
}}}`
	if diff := cmp.Diff(read(t, want), read(t, string(doc))); diff != "" {
		t.Error(diff)
	}
}

func read(t *testing.T, doc string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
