package anthropic_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
)

// What is kept for an hour costs more: it is counted, and never more than what is kept at all.
func TestUsageKeptForAnHour(t *testing.T) {
	for used, want := range map[string]int64{
		`{"input_tokens":1,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,` +
			`"ephemeral_1h_input_tokens":20}}`: 20,
		`{"input_tokens":1,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":20}}`: 5,
		`{"input_tokens":1,"cache_creation_input_tokens":5}`:                                                   0,
	} {
		body := `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":` + used + `}`
		for e, err := range (anthropic.Dialect{}).Decode("", strings.NewReader(body)) {
			if f, ok := e.(llm.Finish); err != nil || ok && f.Usage.LongWrite != want {
				t.Errorf("%s: %+v %v", used, e, err)
			}
		}
	}
}
