package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func keys(ids ...string) func(string, []string) bool {
	return func(id string, _ []string) bool { return slices.Contains(ids, id) }
}

func parsed(tb testing.TB, source string) *Facts {
	tb.Helper()
	f, err := Parse([]byte(source))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func build(tb testing.TB, o Overlay) *Catalog {
	tb.Helper()
	c, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func model(tb testing.TB, c *Catalog, provider, id string) Model {
	tb.Helper()
	m, err := c.Model(provider, id)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// TestSnapshot checks the facts that ship in the binary for what the rest of the program relies on.
func TestSnapshot(t *testing.T) {
	c := build(t, Overlay{})
	if n := len(c.Models()); n < 40 {
		t.Errorf("%d models", n)
	}
	for _, m := range c.Models() {
		switch {
		case m.Title == "" || m.API.ID == "" || m.API.Package == "" || m.API.Type != "aisdk":
			t.Errorf("%s lacks a name or an API: %+v", m.Name(), m.API)
		case m.Limit.Context < 4096 || m.Limit.Output < 1024 || m.Time.Released == 0:
			t.Errorf("%s lacks limits or a date: %+v", m.Name(), m.Limit)
		case !m.AcceptsInput("text") || len(m.Rates) == 0 || !m.Enabled || m.Available:
			t.Errorf("%s: %+v", m.Name(), m)
		}
	}
	for _, p := range c.Providers() {
		if p.Name == "" || len(p.Env) == 0 || p.Available {
			t.Errorf("provider %+v", p)
		}
	}
	if len(c.Available()) != 0 {
		t.Error("models are available without any key")
	}
}

// TestWire compares the JSON of a model and a provider with the V2 contract's schemas, field by field.
func TestWire(t *testing.T) {
	const source = `{"p":{"name":"P","npm":"@ai-sdk/x","api":"https://p/v1","env":["P_KEY"],"models":{"m":{"name":"M","family":"f","reasoning":true,
		"reasoning_options":[{"type":"effort","values":["low"]}],"tool_call":true,"release_date":"2026-01-02","modalities":{"input":["text","image"],"output":["text"]},
		"cost":{"input":1.25,"output":10,"cache_read":0.125,"tiers":[{"tier":{"type":"context","size":272000},"input":2.5,"output":15}]},
		"limit":{"context":400000,"input":272000,"output":128000},"status":"beta","headers":{"X":"1"},"options":{"store":false}}}}}`
	c := build(t, Overlay{Facts: parsed(t, source), Disabled: []string{"p"}})
	tests := []struct {
		got  any
		want string
	}{
		{
			model(t, c, "p", "m"),
			`{"id":"m","providerID":"p","family":"f","name":"M","api":{"id":"m","type":"aisdk","package":"@ai-sdk/x",` +
				`"url":"https://p/v1"},` +
				`"capabilities":{"tools":true,"input":["text","image"],"output":["text"]},"request":{"headers":{"X":"1"},` +
				`"body":{"store":false}},` +
				`"variants":[{"id":"low","headers":{},"body":{"reasoningEffort":"low"}}],"time":{"released":1767312000000},` +
				`"cost":[{"input":1.25,"output":10,"cache":{"read":0.125,"write":0}},{"tier":{"type":"context","size":272000},` +
				`"input":2.5,"output":15,"cache":{"read":0,"write":0}}],` +
				`"status":"beta","enabled":true,"limit":{"context":400000,"input":272000,"output":128000}}`,
		},
		{
			c.Providers()[0],
			`{"id":"p","integrationID":"p","name":"P","disabled":true,"api":{"type":"aisdk","package":"@ai-sdk/x","url":"https://p/v1"},"request":{"headers":{},"body":{}}}`,
		},
		{
			Model{},
			`{"id":"","providerID":"","name":"","api":{"type":""},"capabilities":{"tools":false,"input":[],"output":[]},"request":{"headers":{},"body":{}},"variants":[],"time":{"released":0},"cost":[],"status":"","enabled":false,"limit":{"context":0,"output":0}}`,
		},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.got, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestOverlay(t *testing.T) {
	patch := func(s string) map[string]jsontext.Value {
		var out map[string]jsontext.Value
		if err := json.Unmarshal([]byte(s), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := build(t, Overlay{
		HasKey: keys("openai", "xai"),
		Providers: map[string]ProviderPatch{
			"mine": {
				Name:    "Mine",
				BaseURL: "http://127.0.0.1:9/v1",
				Headers: map[string]string{"X-A": "p", "X-B": "p"},
				Models: patch(`{
				"a/b": {"id":"wire-name","headers":{"X-B":"m"},"limit":{"context":1000,"output":100},"interleaved":{"field":"reasoning"},"attachment":true},
				"plain": {}}`),
			},
			"openai": {Whitelist: []string{"gpt-4o", "gpt-4.1"}, Blacklist: []string{"gpt-4.1"}, Models: patch(`{
				"gpt-4o": {"name":"Mine 4o","cost":{"input":7},"status":"deprecated","variants":{"fast":{"serviceTier":"priority"}}}}`)},
			"groq":     {BaseURL: "http://gateway/v1"},
			"deepseek": {Headers: map[string]string{"Authorization": "Bearer x"}},
			"cerebras": {Headers: map[string]string{"Authorization": "Bearer"}},
			"xai":      {Disabled: true},
			"keyed":    {Env: []string{"K"}},
		},
	})
	mine := model(t, c, "mine", "a/b")
	if mine.API.ID != "wire-name" || mine.API.URL != "http://127.0.0.1:9/v1" || mine.API.Package != defaultPackage ||
		!mine.Available ||
		!mine.Capabilities.Tools ||
		!mine.AcceptsInput("image") ||
		mine.ReasoningField != "reasoning" ||
		mine.Limit.Context != 1000 ||
		mine.Title != "a/b" {
		t.Errorf("%+v", mine)
	}
	if diff := cmp.Diff(map[string]string{"X-A": "p", "X-B": "m"}, mine.Request.Headers); diff != "" {
		t.Error(diff)
	}
	if m := model(t, c, "mine", "plain"); !m.Available || !m.AcceptsInput("text") || m.AcceptsInput("image") ||
		m.Cost(usage(1, 1)) != 0 {
		t.Errorf("%+v", m)
	}
	changed := model(t, c, "openai", "gpt-4o")
	if changed.Title != "Mine 4o" || changed.Rates[0].Input != 7_000_000 || changed.Rates[0].Output != 10_000_000 ||
		changed.Status != Deprecated ||
		!slices.ContainsFunc(changed.Variants, func(v Variant) bool { return v.ID == "fast" }) ||
		!changed.Available {
		t.Errorf("%+v", changed)
	}
	available := map[string]bool{}
	for _, p := range c.Providers() {
		available[p.ID] = p.Available
	}
	for id, want := range map[string]bool{
		"mine": true, "openai": true, "groq": true, "deepseek": true,
		"cerebras": false, "xai": false, "mistral": false, "keyed": false,
	} {
		if available[id] != want {
			t.Errorf("provider %s available: %v", id, available[id])
		}
	}
	if model(t, c, "openai", "gpt-4.1").Enabled || model(t, c, "openai", "gpt-4o-mini").Enabled {
		t.Error("white and black list do not count")
	}
}

func TestEnabledProviders(t *testing.T) {
	c := build(
		t,
		Overlay{HasKey: keys("openai", "groq", "xai"), Enabled: []string{"openai", "groq"}, Disabled: []string{"groq"}},
	)
	for _, m := range c.Available() {
		if m.ProviderID != "openai" {
			t.Errorf("%s is available", m.Name())
		}
	}
}

func TestBadInput(t *testing.T) {
	tests := []struct {
		name string
		o    Overlay
		want string
	}{
		{
			"price",
			Overlay{
				Providers: map[string]ProviderPatch{
					"x": {Models: map[string]jsontext.Value{"m": jsontext.Value(`{"cost":{"input":-1}}`)}},
				},
			},
			"provider.x",
		},
		{
			"limit",
			Overlay{
				Providers: map[string]ProviderPatch{
					"x": {Models: map[string]jsontext.Value{"m": jsontext.Value(`{"limit":{"context":"big"}}`)}},
				},
			},
			"provider.x: models.m.limit.context: want a whole number",
		},
		{
			"negative limit",
			Overlay{
				Providers: map[string]ProviderPatch{
					"x": {Models: map[string]jsontext.Value{"m": jsontext.Value(`{"limit":{"output":-1}}`)}},
				},
			},
			"provider.x: models.m.limit.output: want a whole number, 0 or more",
		},
		{
			"part of a token",
			Overlay{
				Providers: map[string]ProviderPatch{
					"x": {Models: map[string]jsontext.Value{"m": jsontext.Value(`{"limit":{"context":1.5}}`)}},
				},
			},
			"provider.x: models.m.limit.context: want a whole number",
		},
		{
			"not JSON",
			Overlay{
				Providers: map[string]ProviderPatch{"x": {Models: map[string]jsontext.Value{"m": jsontext.Value(`{`)}}},
			},
			"provider.x.models",
		},
	}
	for _, tt := range tests {
		if _, err := New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := Parse([]byte("<html>")); err == nil || !strings.Contains(err.Error(), "not a list of models") {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	c := build(t, Overlay{HasKey: keys("openai", "groq")})
	tests := []struct{ name, want, nearest string }{
		{"openai/gpt-4o", "openai/gpt-4o", ""},
		{"openrouter/anthropic/claude-sonnet-4.5", "openrouter/anthropic/claude-sonnet-4.5", ""},
		{"gpt-4o", "openai/gpt-4o", ""},
		{"openai/gpt-oss-20b", "groq/openai/gpt-oss-20b", ""}, // of those with this id, one can be used
		{"mistral-large-latest", "mistral/mistral-large-latest", ""},
		{"openai/gtp-4o", "", "openai/gpt-4o"},
		{"gpt4o", "", "openai/gpt-4o"},
		{"opnai/gpt-5", "", "openai/gpt-5"},
		{"sonnet-4.5", "", "openrouter/anthropic/claude-sonnet-4.5"},
		{"zzzzzzzzzz", "", ""},
		{"", "", ""},
		{strings.Repeat("x", 100000), "", ""},
	}
	for _, tt := range tests {
		m, err := c.Find(tt.name)
		if tt.want != "" {
			if err != nil || m.Name() != tt.want {
				t.Errorf("%.40s: %s, %v", tt.name, m.Name(), err)
			}
			continue
		}
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok || len(err.Error()) > 400 {
			t.Errorf("%.40s: %v", tt.name, err)
			continue
		}
		if tt.nearest == "" && len(unknown.Nearest) > 0 ||
			tt.nearest != "" && !slices.Contains(unknown.Nearest, tt.nearest) {
			t.Errorf("%.40s: nearest %v, want %s", tt.name, unknown.Nearest, tt.nearest)
		}
	}
	if _, err := c.Provider("opanai"); err == nil || !strings.Contains(err.Error(), "did you mean openai") {
		t.Errorf("%v", err)
	}
	if p, err := c.Provider("groq"); err != nil || !p.Available {
		t.Errorf("%+v, %v", p, err)
	}
}

const young = `{"p":{"env":["K"],"api":"https://p","models":{
	"old":      {"release_date":"2024-01-01","cost":{"input":1,"output":1}},
	"big":      {"release_date":"2026-03","cost":{"input":5,"output":20}},
	"new-flash":{"release_date":"2026-02","cost":{"input":2,"output":2}},
	"mini":     {"release_date":"2026-01","cost":{"input":1,"output":1}},
	"free":     {"release_date":"2026-04","cost":{"input":0,"output":0},"tool_call":false},
	"draft":    {"release_date":"2026-05","status":"beta"},
	"painter":  {"release_date":"2026-05","modalities":{"input":["text"],"output":["image"]}}}},
 "q":{"env":["Q"],"api":"https://q","models":{"big2":{"release_date":"2026-01-01","cost":{"input":1,"output":1}},"big1":{"release_date":"2026-01-01","cost":{"input":1,"output":1}}}}}`

func TestDefault(t *testing.T) {
	tests := []struct {
		name, configured string
		hasKey           func(string, []string) bool
		want             string
		err              string
	}{
		{"newest that can work", "", keys("p", "q"), "p/big", ""},
		{"equal dates: by name", "", keys("q"), "q/big1", ""},
		{"configured", "q/big2", keys("p", "q"), "q/big2", ""},
		{"configured without a key", "q/big2", keys("p"), "p/big", ""},
		{"configured and unknown", "q/big3", keys("p", "q"), "", "did you mean"},
		{"no key at all", "", nil, "", ErrNoModel.Error()},
	}
	for _, tt := range tests {
		m, err := build(t, Overlay{Facts: parsed(t, young), Default: tt.configured, HasKey: tt.hasKey}).Default()
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.name, err)
			}
		} else if err != nil || m.Name() != tt.want {
			t.Errorf("%s: %s, %v", tt.name, m.Name(), err)
		}
	}
}

// Of the small models one that calls tools is taken, where there is one: the others are often made for speech or
// images.
func TestSmallCallsTools(t *testing.T) {
	const source = `{"p":{"env":["K"],"models":{
		"tts-mini":{"release_date":"2026-01-01","tool_call":false,"cost":{"input":0.1,"output":0.1}},
		"chat-mini":{"release_date":"2026-01-01","tool_call":true,"cost":{"input":1,"output":1}}}}}`
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	c := build(
		t,
		Overlay{Facts: parsed(t, strings.Replace(source, `"env"`, `"api":"https://p","env"`, 1)), HasKey: keys("p")},
	)
	if m, ok := c.SmallModel(Model{ProviderID: "p"}, now); !ok || m.ID != "chat-mini" {
		t.Errorf("%s, %v", m.ID, ok)
	}
}

func TestSmall(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct{ name, provider, configured, want string }{
		{"cheapest of those that say they are small", "p", "", "p/mini"},
		{"none says so: cheapest, then by name", "q", "", "q/big1"},
		{"configured", "p", "q/big2", "q/big2"},
		{"configured and unknown", "p", "q/none", "p/mini"},
		{"unknown provider", "r", "", ""},
		{"azure", "azure", "", ""},
	}
	for _, tt := range tests {
		m, ok := build(
			t,
			Overlay{Facts: parsed(t, young), Small: tt.configured, HasKey: keys("p", "q")},
		).SmallModel(Model{ProviderID: tt.provider}, now)
		if ok != (tt.want != "") || ok && m.Name() != tt.want {
			t.Errorf("%s: %s, %v", tt.name, m.Name(), ok)
		}
	}
	const ears = `{"p":{"npm":"@ai-sdk/openai","env":["P"],"models":{
		"mini-transcribe":{"release_date":"2026-05-01","tool_call":false,"modalities":{"input":["audio","text"],"output":["text"]},"cost":{"input":0.1,"output":0.1}},
		"mini-speaks":{"release_date":"2026-05-01","modalities":{"input":["text"],"output":["text","audio"]},"cost":{"input":0.1,"output":0.1}},
		"big":{"release_date":"2026-05-01","modalities":{"input":["text"],"output":["text"]},"cost":{"input":9,"output":9}}}}}`
	p := Model{ProviderID: "p"}
	if m, _ := build(t, Overlay{Facts: parsed(t, ears), HasKey: keys("p")}).SmallModel(p, now); m.Name() != "p/big" {
		t.Errorf("a model for speech writes titles: %s", m.Name())
	}
	if _, ok := build(t, Overlay{Facts: parsed(t, young), HasKey: keys("p")}).SmallModel(p, now.AddDate(3, 0, 0)); ok {
		t.Error("models older than 18 months count as small")
	}
}

// A gateway's small model is of the maker of the model at hand and reasons as little as its options allow; the default
// model of a gateway is of a maker that people know.
func TestSmallOfTheSameMaker(t *testing.T) {
	now := SnapshotDate()
	for _, c := range []struct{ provider, main, small, options string }{
		{"openrouter", "anthropic/claude-opus-4.8", "claude", `{"reasoning":{"enabled":false}}`},
		{"openrouter", "openai/gpt-5.4", "gpt", ``},
		{"amazon-bedrock", "anthropic.claude-opus-4-8", "claude", `{}`},
		{"anthropic", "claude-opus-4-8", "claude", `{}`},
		{"google", "gemini-2.5-pro", "gemini", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"minimal"}}`},
		{"deepseek", "deepseek-flash", "deepseek", `{"thinking":{"type":"disabled"}}`},
	} {
		list := build(t, Overlay{HasKey: keys(c.provider)})
		m, ok := list.SmallModel(model(t, list, c.provider, c.main), now)
		v, _ := m.Variant(LeastReasoning)
		options, err := json.Marshal(v.Body, json.Deterministic(true))
		if !ok || err != nil || m.findMaker() != c.small || c.options != "" && string(options) != c.options {
			t.Errorf("%s/%s: %s with %s, %v %v", c.provider, c.main, m.ID, options, ok, err)
		}
	}
	for _, id := range []string{"openrouter", "vercel", "amazon-bedrock"} {
		m, err := build(t, Overlay{HasKey: keys(id)}).Default()
		if err != nil || !slices.Contains(leadingMakers, m.findMaker()) {
			t.Errorf("%s: the default is %s, %v", id, m.ID, err)
		}
	}
	flash := `{"google":{"npm":"@ai-sdk/google","models":{"gemini-2.5-flash":{"reasoning":true}}}}`
	m := model(t, build(t, Overlay{Facts: parsed(t, flash)}), "google", "gemini-2.5-flash")
	if v, ok := m.Variant(LeastReasoning); !ok || string(v.Body["thinkingConfig"]) != `{"thinkingBudget":0}` {
		t.Errorf("%+v %v", v, ok)
	}
}

func TestVariants(t *testing.T) {
	c := build(
		t,
		Overlay{
			Facts: parsed(
				t,
				`{"p":{"models":{"m":{"reasoning_options":[{"type":"toggle"},{"type":"effort","values":["max","high","none","low"]}],
		"variants":{"low":{"disabled":true},"zeta":{"x":1},"alpha":{"y":1},"high":{"reasoningSummary":"auto"}}}}}}`,
			),
		},
	)
	m := model(t, c, "p", "m")
	var ids []string
	for _, v := range m.Variants {
		ids = append(ids, v.ID)
	}
	if diff := cmp.Diff([]string{"none", "high", "max", "alpha", "zeta"}, ids); diff != "" {
		t.Error(diff)
	}
	if v, ok := m.Variant("high"); !ok || string(v.Body["reasoningEffort"]) != `"high"` ||
		string(v.Body["reasoningSummary"]) != `"auto"` {
		t.Errorf("%+v", v)
	}
	if _, ok := m.Variant("low"); ok {
		t.Error("a disabled variant is there")
	}
	if v, ok := m.Variant("default"); !ok || len(v.Body) != 0 {
		t.Errorf("%+v", v)
	}
}

// FuzzNew lays any bytes over the catalog: an error or a catalog whose JSON can be written.
func FuzzNew(f *testing.F) {
	f.Add(
		[]byte(young),
		[]byte(`{"cost":{"input":1e-3,"tiers":[{"tier":{"size":1}}]},"limit":null,"interleaved":true,"variants":{"a":1}}`),
	)
	f.Fuzz(func(t *testing.T, source, patch []byte) {
		facts, err := Parse(source)
		if err != nil {
			return
		}
		c, err := New(
			Overlay{
				Facts:     facts,
				Providers: map[string]ProviderPatch{"p": {Models: map[string]jsontext.Value{"m": patch}}},
			},
		)
		if err != nil {
			return
		}
		for _, m := range c.Models() {
			if _, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
				t.Errorf("%s: %v", m.Name(), err)
			}
		}
	})
}

// Catalogs that are made of the same facts do not see each other's changes.
func TestFactsAreShared(t *testing.T) {
	facts := parsed(t, young)
	want := build(t, Overlay{Facts: facts})
	build(t, Overlay{Facts: facts, Providers: map[string]ProviderPatch{"p": {
		Name: "Mine", Whitelist: []string{"none"}, Headers: map[string]string{"X-A": "b"}, Body: values(`{"temperature":1}`),
		Models: map[string]jsontext.Value{
			"mini": jsontext.Value(`{"name":"Other","modalities":{"input":["text"]},"options":{"a":1}}`),
		},
	}}})
	if diff := cmp.Diff(want.Models(), build(t, Overlay{Facts: facts}).Models()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Providers(), build(t, Overlay{Facts: facts}).Providers()); diff != "" {
		t.Error(diff)
	}
}

// What reading the facts takes is paid once in a process, what New takes for every location.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(snapshot); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Overlay{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestVariantsOfTheConfiguration(t *testing.T) {
	patch := jsontext.Value(`{"variant":"deep","variants":{"deep":{"headers":{"X-A":"b"},"reasoningEffort":"high"}}}`)
	c := build(
		t,
		Overlay{
			Facts:     parsed(t, `{"p":{"models":{"m":{}}}}`),
			Providers: map[string]ProviderPatch{"p": {Models: map[string]jsontext.Value{"m": patch}}},
		},
	)
	m, err := c.Model("p", "m")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "default", "deep"} {
		v, ok := m.Variant(name)
		if want := (Variant{
			ID: "deep", Headers: map[string]string{"X-A": "b"},
			Body: map[string]jsontext.Value{"reasoningEffort": jsontext.Value(`"high"`)},
		}); !ok ||
			!cmp.Equal(want, v) {
			t.Errorf("%q: got %+v", name, v)
		}
	}
}

// A user's own id for a known model is that model with the user's own description.
func TestOwnNames(t *testing.T) {
	facts := `{"p":{"npm":"@ai-sdk/openai","models":{"big":{"id":"big","name":"Big","reasoning":true,"limit":{"context":1e5,"output":100.0},"cost":{"input":2,"output":4},
		"modalities":{"input":["text","image"],"output":["text"]},"options":{"a":1},"variants":{"deep":{"b":1}}},"small":{}}}}`
	patch := values(
		`{"fast":{"id":"big","options":{"c":2},"cost":{"input":3}},"named":{"id":"big","name":"Mine"},"other":{"id":"unheard-of"}}`,
	)
	c := build(t, Overlay{Facts: parsed(t, facts), Providers: map[string]ProviderPatch{"p": {Models: patch}}})
	fast, big := model(t, c, "p", "fast"), model(t, c, "p", "big")
	if fast.API.ID != "big" || fast.Title != "fast" || fast.Limit != (Limit{Context: 100_000, Output: 100}) ||
		fast.Limit != big.Limit ||
		!fast.AcceptsInput("image") ||
		!fast.Reasoning {
		t.Errorf("%+v", fast)
	}
	if fast.Rates[0].Input != 3_000_000 || fast.Rates[0].Output != 4_000_000 || big.Rates[0].Input != 2_000_000 {
		t.Errorf("%+v", fast.Rates)
	}
	if string(fast.Request.Body["a"]) != "1" || string(fast.Request.Body["c"]) != "2" || big.Request.Body["c"] != nil {
		t.Errorf("%s", fast.Request.Body)
	}
	if _, ok := fast.Variant("deep"); !ok {
		t.Errorf("%+v", fast.Variants)
	}
	if m := model(t, c, "p", "named"); m.Title != "Mine" || m.Limit.Context != 100_000 {
		t.Errorf("%+v", m)
	}
	if m := model(t, c, "p", "other"); m.API.ID != "unheard-of" || m.Limit.Context != 0 {
		t.Errorf("%+v", m)
	}
}

func TestDeniedProviders(t *testing.T) {
	c := build(t, Overlay{HasKey: keys("openai", "groq"), Denied: func(id string) bool { return id != "groq" }})
	for _, m := range c.Available() {
		if m.ProviderID != "groq" {
			t.Errorf("%s is available", m.Name())
		}
	}
}
