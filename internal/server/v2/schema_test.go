package v2_test

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// contract is the part of OpenCode's own OpenAPI document that this package serves: testdata/openapi.json.
type contract struct {
	paths map[string]map[string]operation
	defs  map[string]jsontext.Value

	mu       sync.Mutex // guards resolved
	resolved map[string]*jsonschema.Resolved
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct {
			Schema jsontext.Value `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

func loadContract(t testing.TB) *contract {
	t.Helper()
	b, err := os.ReadFile("testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	b = []byte(strings.ReplaceAll(string(b), "#/components/schemas/", "#/$defs/"))
	var doc struct {
		Paths      map[string]map[string]operation `json:"paths"`
		Components struct {
			Schemas map[string]jsontext.Value `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return &contract{paths: doc.Paths, defs: doc.Components.Schemas, resolved: map[string]*jsonschema.Resolved{}}
}

var placeholder = regexp.MustCompile(`\{[^}]+\}`)

// find returns the operation of a concrete path.
func (c *contract) find(method, path string) (operation, bool) {
	if exact, ok := c.paths[path]; ok {
		op, ok := exact[strings.ToLower(method)]
		return op, ok
	}
	for pattern, ops := range c.paths {
		re := regexp.MustCompile("^" + placeholder.ReplaceAllString(pattern, "[^/]+") + "$")
		if op, ok := ops[strings.ToLower(method)]; ok && re.MatchString(path) {
			return op, true
		}
	}
	return operation{}, false
}

// check validates an answer; known is false for operations of ours, which the document does not have.
func (c *contract) check(t testing.TB, method, path, status string, body []byte) (known bool) {
	t.Helper()
	op, ok := c.find(method, path)
	if !ok {
		return false
	}
	answer, ok := op.Responses[status]
	if !ok {
		return false // a status of ours, such as 413
	}
	var tag struct {
		Tag string `json:"_tag"`
	}
	if json.Unmarshal(body, &tag) == nil && tag.Tag != "" && c.defs[tag.Tag] == nil && tag.Tag != "UnknownError" {
		return false // an error of ours
	}
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

// checkEvent validates a frame of a stream.
func (c *contract) checkEvent(t testing.TB, union string, body []byte) {
	t.Helper()
	c.validate(t, union, jsontext.Value(`{"$ref":"#/$defs/`+union+`"}`), body)
}

func (c *contract) validate(t testing.TB, what string, schema jsontext.Value, body []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("%s: %v in %s", what, err, body)
		return
	}
	withoutAdditions(v)
	if err := c.schema(t, schema).Validate(v); err != nil {
		b, _ := json.Marshal(v, json.Deterministic(true))
		t.Errorf("%s breaks the contract: %v\n%s", what, err, b)
	}
}

func (c *contract) schema(t testing.TB, schema jsontext.Value) *jsonschema.Resolved {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	key := string(schema)
	if r := c.resolved[key]; r != nil {
		return r
	}
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

// collect adds the definitions that the schema needs.
func (c *contract) collect(schema jsontext.Value, needed map[string]jsontext.Value) {
	for _, m := range aRef.FindAllSubmatch(schema, -1) {
		name := string(m[1])
		if _, ok := needed[name]; !ok {
			needed[name] = c.defs[name]
			c.collect(c.defs[name], needed)
		}
	}
}

// withoutAdditions removes our additive fields (spec/v2 §29.2) where they may stand, so that everything else is held to
// the closed schemas of the document.
func withoutAdditions(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			withoutAdditions(e)
		}
	case map[string]any:
		remove := func(names ...string) {
			for _, n := range names {
				delete(v, n)
			}
		}
		switch {
		case v["_tag"] != nil:
			remove("nearest", "what", "reason", "head")
			if v["_tag"] == "SessionNotFoundError" {
				remove("resource", "field") // of what the session cannot use
			}
		case v["delta"] != nil && v["offset"] != nil:
			remove("offset", "partID")
		case v["type"] == "unknown" && v["message"] != nil: // a failure
			remove("reason")
		case v["timestamp"] != nil: // an event's payload
			remove("partID", "partial", "asks", "hold", "usage", "title", "attachments", "next", "providerMetadata", "parentID", "startID", "endID")
			if v["error"] != nil {
				remove("cost", "tokens")
			}
		case v["type"] == "assistant":
			remove("parentID", "startID", "endID")
		case v["type"] == "text" && v["id"] != nil, v["type"] == "reasoning", v["type"] == "tool" && v["state"] != nil:
			remove("partID", "partial")
			if v["type"] == "text" {
				remove("time", "providerMetadata")
			}
		case v["status"] != nil && v["input"] != nil: // a tool's state
			remove("title", "attachments")
		}
		for _, e := range v {
			withoutAdditions(e)
		}
	}
}
