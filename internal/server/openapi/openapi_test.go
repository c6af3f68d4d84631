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
	doc, err := openapi.EncodeDocument(openapi.Info{
		Title: "T", Version: "1", Description: "All.", Tags: map[string]string{"a": "As.", "e": "Es."},
	}, []openapi.Operation{
		{
			ID: "draw", Method: "POST", Path: "/a/{id}", Summary: "Draw it", Description: "At once.", Tag: "a",
			Body: is[head](), BodyRequired: true, Answer: is[drawing](), Fails: map[string]reflect.Type{"404": nil},
			Query: []openapi.Parameter{{Name: "q", Type: is[string](), Enum: []string{"x"}, Required: true}},
		},
		{ID: "follow", Tag: "e", Method: "GET", Path: "/e", Answer: is[envelope](), Media: "text/event-stream"},
		{ID: "forget", Tag: "e", Method: "DELETE", Path: "/e"},
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
	const want = `{"openapi":"3.1.0","info":{"title":"T","version":"1","description":"All.","license":{"name":"MIT","identifier":"MIT"}},
"servers":[{"url":"http://127.0.0.1:4096","description":"the default address of cairn serve"}],
"security":[{"basic":[]},{"bearer":[]},{}],"tags":[{"name":"a","description":"As."},{"name":"e","description":"Es."}],"paths":{
"/a/{id}":{"post":{"operationId":"draw","summary":"Draw it","description":"At once.","tags":["a"],"parameters":[
 {"name":"id","in":"path","required":true,"schema":{"type":"string"}},
 {"name":"q","in":"query","required":true,"schema":{"type":"string","enum":["x"]}}],
 "requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["kind"],"properties":{"kind":{"type":"string"}}}}}},
 "responses":{"200":{"description":"Done","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Drawing"}}}},"404":{"description":"Not Found"}}}},
"/e":{"get":{"operationId":"follow","summary":"","description":"","tags":["e"],"responses":{"200":{"description":"Done","content":{"text/event-stream":{"schema":{"$ref":"#/components/schemas/Envelope"}}}}}},
 "delete":{"operationId":"forget","summary":"","description":"","tags":["e"],"responses":{"204":{"description":"Done"}}}}},
"components":{"securitySchemes":{
"basic":{"type":"http","scheme":"basic","description":"the server's user name and password"},
"bearer":{"type":"http","scheme":"bearer","description":"a token of cairn token"}},"schemas":{
"Drawing":{"type":"object","additionalProperties":false,"required":["color","notes","price","shapes","size"],"properties":{
 "shapes":{"type":"array","items":{"$ref":"#/components/schemas/Shape"}},"color":{"type":"string","enum":["red","blue"]},
 "size":{"type":"string","enum":["s","l"]},"price":{"type":"number"},"more":{},"count":{"type":"number"},
 "notes":{"type":"object","additionalProperties":{"type":"string"}}}},
"Shape":{"anyOf":[{"$ref":"#/components/schemas/Circle"},{"$ref":"#/components/schemas/Square"}],
"discriminator":{"propertyName":"kind","mapping":{"circle":"#/components/schemas/Circle","square":"#/components/schemas/Square"}}},
"Circle":{"type":"object","additionalProperties":false,"required":["kind","radius"],"properties":{"kind":{"type":"string","enum":["circle"]},"radius":{"type":"integer"}}},
"Square":{"type":"object","additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string","enum":["square"]},
 "side":{"type":"number"},"inner":{"type":"array","items":{"$ref":"#/components/schemas/Shape"}}}},
"Head":{"type":"object","additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string"}}},
"Envelope":{"anyOf":[{"$ref":"#/components/schemas/EnvelopeADone"}],
"discriminator":{"propertyName":"type","mapping":{"a.done":"#/components/schemas/EnvelopeADone"}}},
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
