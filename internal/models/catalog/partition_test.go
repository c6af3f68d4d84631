package catalog

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/option"
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
			[]string{
				`{"temperature":0.5,"top_p":1,"topK":3,"max_tokens":9,"frequencyPenalty":1,"presence_penalty":2,"seed":4,"stopSequences":["x"]}`,
			},
			Options{
				Generate: llm.Generation{
					Temperature:      new(0.5),
					TopP:             new(1.0),
					TopK:             new(3),
					MaxTokens:        9,
					FrequencyPenalty: new(1.0),
					PresencePenalty:  new(2.0),
					Seed:             new(int64(4)),
					Stop:             []string{"x"},
				},
			},
		},
		{
			"semantic options get their neutral names",
			[]string{
				`{"reasoning_effort":"high","textVerbosity":"low","service_tier":"flex","thinking":{"type":"enabled"}}`,
			},
			Options{
				Semantic: values(
					`{"reasoningEffort":"high","textVerbosity":"low","serviceTier":"flex","thinking":{"type":"enabled"}}`,
				),
			},
		},
		{
			"transport options go nowhere",
			[]string{`{"apiKey":"x","base_url":"y","headers":{},"timeout":1,"setCacheKey":true}`},
			Options{},
		},
		{
			"the rest is for the body",
			[]string{`{"enable_thinking":true}`},
			Options{Body: values(`{"enable_thinking":true}`)},
		},
		{
			"later layers win, objects deeply, whatever the spelling",
			[]string{
				`{"reasoningEffort":"low","extra":{"a":1,"b":{"c":1}},"gone":1}`,
				`{"reasoning_effort":"high","extra":{"b":{"d":2}},"gone":null}`,
			},
			Options{
				Semantic: values(`{"reasoningEffort":"high"}`),
				Body:     values(`{"extra":{"a":1,"b":{"c":1,"d":2}}}`),
			},
		},
		{
			"a value of the wrong type is dropped and reported",
			[]string{`{"temperature":"warm","x":1}`},
			Options{Body: values(`{"x":1}`), Dropped: []string{`temperature: want a number from 0 to 2, got "warm"`}},
		},
		{
			"a value outside of an enumeration is dropped and reported",
			[]string{`{"textVerbosity":"much","reasoning_summary":1,"reasoningEffort":3,"cache_ttl":"1d"}`},
			Options{Dropped: []string{
				`cache_ttl: want "5m" or "1h", got "1d"`, `reasoningEffort: want "none", "minimal", "low", "medium", "high", ` +
					`"xhigh" or "max", got 3`,
				`reasoning_summary: want "auto", "concise", "detailed" or "none", got 1`,
				`textVerbosity: want "low", "medium" or "high", got "much"`,
			}},
		},
		{
			"what is wrong is left out of its layer alone",
			[]string{
				`{"topP":0.5,"thinking":{"type":"enabled"},"stop":"END"}`,
				`{"top_p":7,"thinking":{"budgetTokens":"many"},"stream":false,"x":"any"}`,
			},
			Options{
				Generate: llm.Generation{
					TopP: new(0.5),
					Stop: []string{"END"},
				}, Semantic: values(`{"thinking":{"type":"enabled"}}`), Body: values(`{"x":"any"}`),
				Dropped: []string{
					`stream: cairn sets it itself`,
					`thinking.budgetTokens: want a whole number, 1 or more`,
					`top_p: want a number from 0 to 1, got 7`,
				},
			},
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
			if diff := cmp.Diff(tt.want, Partition(option.VendorOf("openai", ""), layers...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDroppedOptions looks at what a model says of its options, wherever they come from.
func TestDroppedOptions(t *testing.T) {
	c, err := New(Overlay{
		Facts: parsed(
			t,
			`{"tiny":{"npm":"@ai-sdk/openai","models":{"one":{"reasoning":true,"reasoning_options":[{"type":"effort","values":["ultra"]}]}}}}`,
		),
		Providers: map[string]ProviderPatch{"tiny": {
			Body: values(`{"max_tokens":10,"topP":7,"reasoningEffort":"ultra"}`),
			Models: map[string]jsontext.Value{"one": jsontext.Value(
				`{"options":{"maxTokens":20,"store":"maybe"},"variants":{"odd":{"textVerbosity":"much","seed":1}}}`,
			)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Model("tiny", "one")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`store: want true or false, got "maybe"`, `topP: want a number from 0 to 1, got 7`,
		`variant odd: textVerbosity: want "low", "medium" or "high", got "much"`,
	}
	if diff := cmp.Diff(want, m.Dropped); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	odd, _ := m.Variant("odd")
	o := m.Options(odd.Body)
	if o.Generate.MaxTokens != 20 || o.Generate.TopP != nil || o.Generate.Seed == nil ||
		string(o.Semantic["reasoningEffort"]) != `"ultra"` ||
		o.Dropped != nil {
		t.Errorf("%+v", o)
	}
}

func values(s string) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		panic(err)
	}
	return out
}
