// Package contracttest validates responses against an OpenAPI document: that of the real OpenCode, or cairn's.
package contracttest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// Contract holds the operations and schemas of a document. It is safe for concurrent use.
type Contract struct {
	// Plain removes the additional fields of cairn from a value, so that the rest is validated against the closed
	// schemas of the document; nil removes nothing.
	Plain func(v any)

	// Own is set for cairn's own document, which describes every error. Errors that OpenCode does not have are not
	// validated against its document.
	Own bool

	paths map[string]map[string]contractOperation
	defs  map[string]jsontext.Value

	mu       sync.Mutex // guards resolved
	resolved map[string]*jsonschema.Resolved
}

type contractOperation struct {
	ID        string `json:"operationId"`
	Responses map[string]struct {
		Content map[string]struct {
			Schema jsontext.Value `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

// Load reads a document.
func Load(t testing.TB, file string) *Contract {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b = []byte(strings.ReplaceAll(string(b), "#/components/schemas/", "#/$defs/"))
	var doc struct {
		Paths      map[string]map[string]contractOperation `json:"paths"`
		Components struct {
			Schemas map[string]jsontext.Value `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return &Contract{paths: doc.Paths, defs: doc.Components.Schemas, resolved: map[string]*jsonschema.Resolved{}}
}

// find returns the operation of a concrete path.
func (c *Contract) find(method, path string) (contractOperation, bool) {
	if exact, ok := c.paths[path]; ok {
		op, ok := exact[strings.ToLower(method)]
		return op, ok
	}
	for pattern, ops := range c.paths {
		if op, ok := ops[strings.ToLower(method)]; ok && MatchPath(pattern, path) {
			return op, true
		}
	}
	return contractOperation{}, false
}

// MatchPath reports whether a concrete path is one of the pattern, whose placeholders are whole elements, not empty.
func MatchPath(pattern, path string) bool {
	return slices.EqualFunc(strings.Split(pattern, "/"), strings.Split(path, "/"), func(want, got string) bool {
		return want == got || got != "" && strings.HasPrefix(want, "{")
	})
}

// HTTPExchange is a request and its response.
type HTTPExchange struct {
	Method, Path, Status string
	Body                 []byte
}

// Check validates a response. known is false for operations that the document does not have.
func (c *Contract) Check(t testing.TB, e HTTPExchange) (known bool) {
	t.Helper()
	method, path, status, body := e.Method, e.Path, e.Status, e.Body
	// Find the operation and the response for its status.
	op, ok := c.find(method, path)
	if !ok {
		return false
	}
	answer, ok := op.Responses[status]
	if !ok && c.Own && status != "405" {
		t.Errorf("%s %s: our document has no status %s for %s", method, path, status, op.ID)
	}
	if !ok {
		return false // a status that only cairn has, such as 413
	}
	// OpenCode's document does not cover an error with an unknown tag.
	var tag struct {
		Tag string `json:"_tag"`
	}
	if !c.Own && json.Unmarshal(body, &tag) == nil && tag.Tag != "" && c.defs[tag.Tag] == nil &&
		tag.Tag != "UnknownError" {
		return false // an error that only cairn has
	}
	// Without content in the document, the body must be empty. Media other than JSON are not checked.
	media, ok := answer.Content["application/json"]
	if !ok {
		if len(answer.Content) == 0 && len(body) != 0 {
			t.Errorf("%s %s %s has a body, which the contract has not", method, path, status)
		}
		return true
	}
	c.validate(t, method+" "+path+" "+status, media.Schema, body)
	return true
}

// CheckEvent validates a frame of a stream.
func (c *Contract) CheckEvent(t testing.TB, union string, body []byte) {
	t.Helper()
	c.validate(t, union, jsontext.Value(`{"$ref":"#/$defs/`+union+`"}`), body)
}

func (c *Contract) validate(t testing.TB, what string, schema jsontext.Value, body []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("%s: %v in %s", what, err, body)
		return
	}
	if c.Plain != nil {
		c.Plain(v)
	}
	if err := c.resolveSchema(t, schema).Validate(v); err != nil {
		b, _ := json.Marshal(v, json.Deterministic(true))
		t.Errorf("%s breaks the contract: %v\n%s", what, err, b)
	}
}

func (c *Contract) resolveSchema(t testing.TB, schema jsontext.Value) *jsonschema.Resolved {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	// A schema that was resolved before is cached.
	key := string(schema)
	if r := c.resolved[key]; r != nil {
		return r
	}
	// Copy the definitions that the schema needs into it, because the validator looks for references there.
	var all map[string]jsontext.Value
	if err := json.Unmarshal(schema, &all); err != nil {
		t.Fatal(err)
	}
	needed := map[string]jsontext.Value{}
	c.collect(schema, needed)
	defs, err := json.Marshal(needed)
	if err != nil {
		t.Fatal(err)
	}
	all["$defs"] = defs
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	// Compile the result.
	s := &jsonschema.Schema{}
	if err := s.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.resolved[key] = r
	return r
}

var aRef = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// collect adds the definitions that the schema refers to.
func (c *Contract) collect(schema jsontext.Value, needed map[string]jsontext.Value) {
	for _, m := range aRef.FindAllSubmatch(schema, -1) {
		name := string(m[1])
		if _, ok := needed[name]; !ok {
			needed[name] = c.defs[name]
			c.collect(c.defs[name], needed)
		}
	}
}

// ListOperations returns the document's operations as "GET /path operationId", sorted.
func (c *Contract) ListOperations() []string {
	var out []string
	for path, ops := range c.paths {
		for method, op := range ops {
			out = append(out, strings.ToUpper(method)+" "+path+" "+op.ID)
		}
	}
	slices.Sort(out)
	return out
}
