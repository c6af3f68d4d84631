package contracttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// description holds the parts of a document that CheckDescription reads.
type description struct {
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths map[string]map[string]struct {
		ID        string                    `json:"operationId"`
		Summary   string                    `json:"summary"`
		Tags      []string                  `json:"tags"`
		Responses map[string]jsontext.Value `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schemaUnion `json:"schemas"`
	} `json:"components"`
}

type schemaUnion struct {
	AnyOf []struct {
		Ref string `json:"$ref"`
	} `json:"anyOf"`
	Discriminator *struct {
		Name    string            `json:"propertyName"`
		Mapping map[string]string `json:"mapping"`
	} `json:"discriminator"`
	Properties map[string]struct {
		Enum []string `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// CheckDescription checks what a reader and a generator of clients need beside the schemas: each operation has an id of
// its own, a summary, a described tag, and the failures that every request can meet; and each variant of a union with a
// discriminator requires that member, with the value that the mapping has for it.
func CheckDescription(t *testing.T, document []byte) {
	t.Helper()
	var d description
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	// Collect the described tags.
	tags, ids := map[string]bool{}, map[string]bool{}
	for _, tag := range d.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	// Check each operation.
	for path, operations := range d.Paths {
		for method, o := range operations {
			at := strings.ToUpper(method) + " " + path
			if ids[o.ID] || o.ID == "" || o.Summary == "" || len(o.Tags) != 1 || !tags[o.Tags[0]] {
				t.Errorf("%s: id %q, summary %q, tags %q: each operation needs its own", at, o.ID, o.Summary, o.Tags)
			}
			ids[o.ID] = true
			for _, status := range []string{"401", "403", "500", "503"} {
				if o.Responses[status] == nil {
					t.Errorf("%s has no response %s", at, status)
				}
			}
		}
	}
	// Check the unions of the components.
	for name, u := range d.Components.Schemas {
		if u.Discriminator != nil {
			u.checkVariants(t, name, d.Components.Schemas)
		}
	}
}

// checkVariants checks the variants of the union against its mapping.
func (u schemaUnion) checkVariants(t *testing.T, name string, schemas map[string]schemaUnion) {
	t.Helper()
	if len(u.AnyOf) != len(u.Discriminator.Mapping) {
		t.Errorf("%s has %d variants and %d values", name, len(u.AnyOf), len(u.Discriminator.Mapping))
	}
	for value, ref := range u.Discriminator.Mapping {
		member := u.Discriminator.Name
		variant := schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
		if !slices.Equal(variant.Properties[member].Enum, []string{value}) ||
			!slices.Contains(variant.Required, member) {
			t.Errorf("%s: %s does not require %s to be %q", name, ref, member, value)
		}
	}
}
