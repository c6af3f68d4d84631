package openaichat_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
)

// What GitHub Copilot says that it charges goes with the usage, whether it comes before, with or after it.
func TestCredits(t *testing.T) {
	const used = `"usage":{"prompt_tokens":1,"completion_tokens":1}`
	const charged = `"copilot_usage":{"total_nano_aiu":1500000000}`
	for name, frames := range map[string][]string{
		"together": {`{` + used + `,` + charged + `}`}, "before": {`{` + charged + `}`, `{` + used + `}`},
		"after": {`{` + used + `}`, `{` + charged + `}`},
	} {
		body := stream(append([]string{says(`{"content":"hi"}`), ends("stop")}, frames...)...)
		for e, err := range (openaichat.Dialect{}).Decode("", strings.NewReader(body)) {
			if f, ok := e.(llm.Finish); err != nil ||
				ok && (f.Usage.Billed == nil || *f.Usage.Billed != 15_000_000_000 || f.Usage.Input != 1) {
				t.Errorf("%s: %+v %v", name, e, err)
			}
		}
	}
	for e := range (openaichat.Dialect{}).Decode(
		"",
		strings.NewReader(stream(says(`{"content":"hi"}`), ends("stop"), `{"copilot_usage":{"total_nano_aiu":-1},`+used+`}`)),
	) {
		if f, ok := e.(llm.Finish); ok && f.Usage.Billed != nil {
			t.Errorf("a negative charge counts: %+v", f.Usage)
		}
	}
}
