package search

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/tool"
)

// The metadata of a search request is the input of the model.
func TestSearchRequestMetadata(t *testing.T) {
	for want, a := range map[string]searchAsk{
		`{"pattern":"x"}`: {action: "glob", Pattern: "x"},
		`{"pattern":"x","path":"s","include":"*.go"}`: {"grep", "x", "s", "*.go"},
	} {
		if got := string(tool.EncodeObject(a)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
