package v2_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
)

// foldName returns the name as generators of other languages see it: letters and digits, without case, because some make
// a file of each.
func foldName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name))
}

// TestDocumentSuitsGenerators holds what clients that are generated from the document need; make generatedclients makes
// two. Names of operations and components differ in more than case and punctuation, references lead to components, unions
// say what tells their types apart, and the body of each error is one component.
func TestDocumentSuitsGenerators(t *testing.T) {
	var d struct {
		Paths map[string]map[string]struct {
			ID        string `json:"operationId"`
			Responses map[string]struct {
				Content map[string]struct {
					Schema map[string]any `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	doc := document(t)
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	// Names.
	operations, components := map[string]string{}, map[string]string{}
	note := func(names map[string]string, name string) {
		if other, taken := names[foldName(name)]; taken {
			t.Errorf("%s and %s are one name for a generator", other, name)
		}
		names[foldName(name)] = name
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			note(operations, o.ID)
			for status, r := range o.Responses {
				body, isJSON := r.Content["application/json"]
				if status[0] > '3' && (!isJSON || body.Schema["$ref"] != "#/components/schemas/Error") {
					t.Errorf("%s %s: the body of %s is %v, want the component Error", method, path, status, body.Schema)
				}
			}
		}
	}
	for name := range d.Components.Schemas {
		note(components, name)
	}
	// References and unions, wherever they are.
	var whole any
	if err := json.Unmarshal(doc, &whole); err != nil {
		t.Fatal(err)
	}
	var visit func(at string, v any)
	visit = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(at, e)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
				t.Errorf("%s refers to %s, which is missing", at, ref)
			}
			if v["anyOf"] != nil && v["discriminator"] == nil {
				t.Errorf("%s is a union without a discriminator", at)
			}
			for key, e := range v {
				visit(at+"/"+key, e)
			}
		}
	}
	visit("", whole)
}
