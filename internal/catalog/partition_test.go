package catalog

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
)

func TestPartition(t *testing.T) {
	tests := []struct {
		name   string
		layers []string
		want   Options
	}{
		{"nothing", nil, Options{}},
		{
			"generation in any spelling",
			[]string{`{"temperature":0.5,"top_p":1,"topK":3,"max_tokens":9,"frequencyPenalty":1,"presence_penalty":2,"seed":4,"stopSequences":["x"]}`},
			Options{Generate: llm.Generation{Temperature: new(0.5), TopP: new(1.0), TopK: new(3), MaxTokens: 9, FrequencyPenalty: new(1.0), PresencePenalty: new(2.0), Seed: new(int64(4)), Stop: []string{"x"}}},
		},
		{
			"semantic options get their neutral names",
			[]string{`{"reasoning_effort":"high","textVerbosity":"low","service_tier":"flex","thinking":{"type":"enabled"}}`},
			Options{Semantic: values(`{"reasoningEffort":"high","textVerbosity":"low","serviceTier":"flex","thinking":{"type":"enabled"}}`)},
		},
		{"transport options go nowhere", []string{`{"apiKey":"x","base_url":"y","headers":{},"timeout":1,"setCacheKey":true}`}, Options{}},
		{"the rest is for the body", []string{`{"enable_thinking":true}`}, Options{Body: values(`{"enable_thinking":true}`)}},
		{
			"later layers win, objects deeply, whatever the spelling",
			[]string{`{"reasoningEffort":"low","extra":{"a":1,"b":{"c":1}},"gone":1}`, `{"reasoning_effort":"high","extra":{"b":{"d":2}},"gone":null}`},
			Options{Semantic: values(`{"reasoningEffort":"high"}`), Body: values(`{"extra":{"a":1,"b":{"c":1,"d":2}}}`)},
		},
		{
			"a value of the wrong type is dropped and told",
			[]string{`{"temperature":"warm","x":1}`},
			Options{Body: values(`{"x":1}`), Dropped: []string{`temperature: "warm" is not a value for it`}},
		},
		{
			"so is what is no word of an enumeration",
			[]string{`{"textVerbosity":"much","reasoning_summary":1,"reasoningEffort":3,"cache_ttl":"1d"}`},
			Options{Dropped: []string{
				`cache_ttl: "1d" is none of 5m, 1h`, `reasoningEffort: 3 is not a word`, `reasoning_summary: 1 is none of auto, concise, detailed, none`,
				`textVerbosity: "much" is none of low, medium, high`,
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var layers []map[string]jsontext.Value
			for _, l := range tt.layers {
				layers = append(layers, values(l))
			}
			if tt.want.Semantic == nil {
				tt.want.Semantic = map[string]jsontext.Value{}
			}
			if tt.want.Body == nil {
				tt.want.Body = map[string]jsontext.Value{}
			}
			if diff := cmp.Diff(tt.want, Partition(layers...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func values(s string) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		panic(err)
	}
	return out
}
