package scope

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
)

func TestRequestLimit(t *testing.T) {
	for _, c := range []struct {
		name     string
		limits   Limits
		reserved int64
		want     int64
	}{
		{"unknown", Limits{}, 0, 0},
		{"room for the answer", Limits{Context: 100_000, Output: 8000}, 0, 92_000},
		{"an answer has at most 32,000", Limits{Context: 200_000, Output: 64_000}, 0, 168_000},
		{"unknown output", Limits{Context: 200_000}, 0, 168_000},
		{"a larger reserve", Limits{Context: 100_000, Output: 8000}, 30_000, 70_000},
		{"an input limit", Limits{Context: 400_000, Input: 272_000, Output: 128_000}, 0, 252_000},
		{"an input limit and a reserve", Limits{Context: 400_000, Input: 272_000, Output: 128_000}, 5000, 267_000},
		{"a small window keeps half", Limits{Context: 4096, Output: 4096}, 0, 2048},
	} {
		if got := c.limits.RequestLimit(c.reserved); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestEstimateNext(t *testing.T) {
	next := RequestSize{Bytes: 10_000, Media: 1600}
	for _, c := range []struct {
		name    string
		earlier *UsageReport
		ratio   float64
		want    int64
	}{
		{"nothing known", nil, 0, 4100},
		{"calibrated", nil, 0.4, 5600},
		{"a ratio that no tokenizer has", nil, 7, 11_600},
		{"reported", &UsageReport{Input: 90_000, Size: RequestSize{Bytes: 8000, Media: 1600}}, 0, 90_500},
		{"reported without the image", &UsageReport{Input: 90_000, Size: RequestSize{Bytes: 10_000}}, 0, 91_600},
		{
			"reported less than any tokenizer counts",
			&UsageReport{Input: 3, Size: RequestSize{Bytes: 10_000, Media: 1600}}, 0, 2600,
		},
		{"the earlier request was larger", &UsageReport{Input: 90_000, Size: RequestSize{Bytes: 20_000}}, 0, 4100},
	} {
		if got := EstimateNext(next, c.earlier, c.ratio); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMeasureRequest(t *testing.T) {
	text := llm.Text{Text: "12345"}
	req := &llm.Request{
		System: []string{"123"}, Tools: []llm.ToolDefinition{{Name: "ab", Description: "cd", Schema: []byte("{}")}},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{text, llm.Media{MediaType: "image/png", Data: make([]byte, 9999)}}},
			{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{Content: []llm.Part{text}}}},
		},
	}
	want := RequestSize{Bytes: 3 + 6 + 2*messageBytes + 10, Media: imageTokens}
	if got := MeasureRequest(req); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMeasureText(t *testing.T) {
	for text, dense := range map[string]int64{
		"the quick brown fox jumps over the lazy dog, again and again":                      0,
		"see internal/server/nextrequest/report_linux_amd64.go for it":                      0,
		"TestTheLongNameOfAFunctionThatIsTested":                                            0,
		"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAx":          72,
		"id 123e4567-e89b-12d3-a456-426614174000\nda39a3ee5e6b4b0d3255bfef95601890afd80709": 36 + 40,
		"0.48,0.52,0.59,0.35,0.44,0.39":                                                     29,
	} {
		if got := MeasureText(text); got != (RequestSize{Bytes: int64(len(text)), Dense: dense}) {
			t.Errorf("%q: %+v, want %d", text, got, dense)
		}
	}
}
