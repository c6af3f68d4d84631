package inspect

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// An event of every kind can be summarised, even one without any of its fields.
func TestSummarizeEveryEvent(t *testing.T) {
	for _, k := range session.ListKinds() {
		d, err := session.DecodeData(k, 1, jsontext.Value(`{}`))
		if err != nil {
			t.Fatalf("decode an empty %s: %v", k, err)
		}
		_ = summarizeEvent(d)
	}
}
