package contracttest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/contracttest"
)

const theirs = `{"paths":{
"/a/{id}":{"get":{"operationId":"a.get","parameters":[{"name":"id","in":"path","required":true},{"name":"q","in":"query","schema":{"enum":["x","y"]}}],
 "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"text":{"type":"string"}}}}}},
 "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},"404":{}}}},
"/b":{"post":{"operationId":"b","responses":{"204":{}}}}},
"components":{"schemas":{"A":{"type":"object","properties":{"list":{"type":"array","items":{"$ref":"#/components/schemas/Part"}},"map":{"type":"object","additionalProperties":{"type":"number"}}}},
"Part":{"anyOf":[{"$ref":"#/components/schemas/Text"},{"$ref":"#/components/schemas/File"}]},
"Text":{"type":"object","properties":{"type":{"enum":["text"]},"text":{"type":"string"}}},
"File":{"type":"object","properties":{"type":{"enum":["file"]},"state":{"type":"string","enum":["old","new"]}}}}}}`

// Every kind of violation of the contract is reported with its position.
func TestLacks(t *testing.T) {
	if got, err := contracttest.FindMissing([]byte(theirs), []byte(theirs)); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"/b":{"post"`, `"/c":{"post"`, "POST /b"},
		{`"operationId":"b"`, `"operationId":"c"`, "POST /b operationId b"},
		{
			`{"name":"q","in":"query","schema":{"enum":["x","y"]}}`, `{"name":"r","in":"query"}`,
			"GET /a/{id} query parameter q",
		},
		{`"in":"query","schema"`, `"in":"query","required":true,"schema"`, "GET /a/{id} query parameter q: optional"},
		{`["x","y"]`, `["x"]`, "GET /a/{id} query parameter q = y"},
		{`{"text":{"type":"string"}}`, `{"words":{"type":"string"}}`, "GET /a/{id} body.text"},
		{`,"404":{}`, ``, "GET /a/{id} 404"},
		{`"list":{"type":"array"`, `"lists":{"type":"array"`, "A.list"},
		{`{"type":"number"}`, `{"type":"string"}`, "A.map{}"},
		{`{"type":"number"}`, `{}`, "A.map{}: what it holds"},
		{`,{"$ref":"#/components/schemas/File"}`, ``, "File"},
		{`["file"]`, `["patch"]`, "File"},
		{`"text":{"type":"string"}}},` + "\n" + `"File"`, `"text":{"type":"number"}}},` + "\n" + `"File"`, "Text.text"},
		{`["old","new"]`, `["old"]`, "File.state = new"},
	} {
		ours := strings.Replace(theirs, c.old, c.new, 1)
		got, err := contracttest.FindMissing([]byte(theirs), []byte(ours))
		if diff := cmp.Diff([]string{c.want}, got); diff != "" || err != nil || ours == theirs {
			t.Errorf("%s -> %s: %v %s", c.old, c.new, err, diff)
		}
	}
}
