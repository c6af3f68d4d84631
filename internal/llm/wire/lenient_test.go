package wire_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func TestDecodeLenient(t *testing.T) {
	type part struct {
		Text string         `json:"text"`
		N    int            `json:"n"`
		P    *int           `json:"p"`
		On   bool           `json:"on"`
		Raw  jsontext.Value `json:"raw"`
		In   *part          `json:"in"`
		List []part         `json:"list"`
	}
	two := 2
	tests := []struct {
		name, in string
		want     part
	}{
		{
			"as it should be", `{"text":"a","n":1,"p":2,"on":true,"raw":[1],"in":{"n":3},"list":[{"n":4}]}`,
			part{Text: "a", N: 1, P: &two, On: true, Raw: jsontext.Value("[1]"), In: &part{N: 3}, List: []part{{N: 4}}},
		},
		{"all wrong", `{"text":1,"n":"1","p":{},"on":"true","in":[],"list":{},"more":1}`, part{}},
		{"numbers of other types", `{"n":1.5,"p":1e3,"raw":1e999}`, part{Raw: jsontext.Value("1e999")}},
		{"nothing", `{"text":null,"n":null,"p":null,"in":null,"list":null}`, part{}},
		{
			"one of several", `{"text":5,"p":2,"list":[5,{"n":"x","text":"a"},null,{"in":{"in":7,"n":1}}]}`,
			part{P: &two, List: []part{{}, {Text: "a"}, {}, {In: &part{N: 1}}}},
		},
		{"twice", `{"n":"x","n":1}`, part{N: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got part
			if err := wire.DecodeLenient([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, in := range []string{``, `5`, `"a"`, `[]`, `{`, `{"n":1}x`, `{"n":tru}`} {
		if err := wire.DecodeLenient([]byte(in), new(part)); err == nil {
			t.Errorf("%q is read", in)
		}
	}
}
