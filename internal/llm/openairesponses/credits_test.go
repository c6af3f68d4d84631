package openairesponses_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
)

// What GitHub Copilot says that it charges goes with the usage.
func TestCredits(t *testing.T) {
	body := stream(
		created, says(0, `"hi"`),
		`{"type":"response.completed","response":{"usage":{"input_tokens":1}},"copilot_usage":{"total_nano_aiu":7}}`,
	)
	var billed int64
	for e, err := range (openairesponses.Dialect{}).Decode("", strings.NewReader(body)) {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := e.(llm.Finish); ok && f.Usage.Billed != nil {
			billed = *f.Usage.Billed
		}
	}
	if billed != 70 {
		t.Errorf("%d pico-dollars", billed)
	}
}

// A frame that arrives twice counts once; servers that number otherwise lose nothing.
func TestRepeatedFrames(t *testing.T) {
	delta := func(number, text string) string {
		return `{"type":"response.output_text.delta","output_index":0,` + number + `"delta":"` + text + `"}`
	}
	for name, c := range map[string]struct {
		frames []string
		want   string
	}{
		"twice":       {[]string{delta(`"sequence_number":4,`, "Hi"), delta(`"sequence_number":4,`, "Hi")}, "Hi"},
		"one number":  {[]string{delta(`"sequence_number":0,`, "a"), delta(`"sequence_number":0,`, "b")}, "ab"},
		"no number":   {[]string{delta("", "ha"), delta("", "ha")}, "haha"},
		"next number": {[]string{delta(`"sequence_number":4,`, "ha"), delta(`"sequence_number":5,`, "ha")}, "haha"},
	} {
		frames := append([]string{created}, c.frames...)
		body := stream(append(frames, `{"type":"response.completed","response":{"usage":{"input_tokens":1}}}`)...)
		var got strings.Builder
		for e, err := range (openairesponses.Dialect{}).Decode("", strings.NewReader(body)) {
			if err != nil {
				t.Fatal(name, err)
			}
			if d, ok := e.(llm.TextDelta); ok {
				got.WriteString(d.Delta)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %q, want %q", name, got.String(), c.want)
		}
	}
}
