package v2_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/test/contracttest"
)

// loadContract reads the part of OpenCode's own OpenAPI document that this package serves.
func loadContract(t testing.TB) *contracttest.Contract {
	c := contracttest.Load(t, "testdata/openapi.json")
	c.Plain = withoutAdditions
	return c
}

// withoutAdditions removes the members that cairn adds to OpenCode's, so that everything else is validated against the
// closed schemas of the document.
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
			if v["_tag"] == "InvalidRequestError" {
				remove("resource") // that the session cannot use
			}
		case v["delta"] != nil && v["offset"] != nil:
			remove("offset", "partID")
		case v["type"] == "unknown" && v["message"] != nil: // a failure
			remove("reason", "said")
		case v["timestamp"] != nil: // an event's payload
			remove("partID", "partial", "asks", "hold", "usage", "title", "attachments", "next", "providerMetadata",
				"restricted", "parentID", "startID", "endID", "prefix", "subtasks", "noReply", "replaced")
			if v["error"] != nil {
				remove("cost", "tokens", "structured")
			}
		case v["type"] == "assistant":
			remove("parentID", "startID", "endID", "prefix", "subtasks", "endRemoved")
		case v["type"] == "user":
			remove("noReply")
		case v["type"] == "text" && v["id"] != nil, v["type"] == "reasoning", v["type"] == "tool" && v["state"] != nil:
			remove("partID", "partial")
			if v["type"] == "text" {
				remove("time", "providerMetadata")
			}
		case v["isRetryable"] != nil: // why an attempt failed
			remove("class")
		case v["cache"] != nil && v["reasoning"] != nil: // counts of tokens
			remove("unpriced")
		case v["status"] != nil && v["input"] != nil: // a tool's state
			remove("title", "attachments")
		}
		for _, e := range v {
			withoutAdditions(e)
		}
	}
}
