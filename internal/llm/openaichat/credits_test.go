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

// What a gateway says that it charges, in dollars, goes with the usage.
func TestCharge(t *testing.T) {
	for members, want := range map[string]int64{
		`"cost":0.00566`:           5_660_000_000,
		`"cost":0`:                 0,
		`"estimated_cost":1.5e-05`: 15_000_000,
		`"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.02}`:    21_000_000_000,
		`"cost":0.001,"is_byok":false,"cost_details":{"upstream_inference_cost":0.0009}`: 1_000_000_000,
		`"cost":0.001,"is_byok":true`: -1, `"cost":-1`: -1, `"cost":"1"`: -1, `"cost":{"total_cost":1}`: -1,
		`"cost":1e300`: -1, `"cost":null`: -1, `"total_tokens":2`: -1,
	} {
		body := stream(says(`{"content":"hi"}`), ends("stop"),
			`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,`+members+`}}`)
		for e, err := range (openaichat.Dialect{}).Decode("", strings.NewReader(body)) {
			f, ok := e.(llm.Finish)
			if err != nil || !ok {
				continue
			}
			got := int64(-1)
			if f.Usage.Billed != nil {
				got = *f.Usage.Billed
			}
			if got != want || f.Usage.Input != 1 {
				t.Errorf("%s: %d pico-dollars, want %d", members, got, want)
			}
		}
	}
}
