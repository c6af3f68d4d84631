package host

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/telemetry"
)

// measuredModels are models whose requests are measured.
type measuredModels struct {
	scope.Models
	measures *measures
}

// wrapModels returns models whose requests are measured.
func (m *measures) wrapModels(next scope.Models) scope.Models {
	if m == nil {
		return next
	}
	return measuredModels{next, m}
}

// Resolve implements scope.Models.
func (m measuredModels) Resolve(ref session.ModelRef, a session.Agent) (*scope.Model, error) {
	out, err := m.Models.Resolve(ref, a)
	if err != nil {
		return nil, err
	}
	measured := *out
	measured.Client = measuredModel{out.Client, m.measures, out}
	return &measured, nil
}

// measuredModel is a model whose requests are measured.
type measuredModel struct {
	llm.Model
	measures *measures
	model    *scope.Model
}

// Stream implements llm.Model.
func (m measuredModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m.measures.exporter.Start()
		r := m.begin(ctx, req)
		defer r.end()
		for e, err := range m.Model.Stream(telemetry.WithTrace(ctx, r.span.Context()), req) {
			r.note(e, err)
			if !yield(e, err) {
				return
			}
		}
	}
}

// measuredRequest is one request under way.
type measuredRequest struct {
	measuredModel
	vendor, name string
	span         *telemetry.Span
	began        time.Time
	text         strings.Builder // of the answer, with content
	usage        *llm.Usage
	failure      string // its kind
}

// vendorNames are the names of providers in the conventions, where they differ from those of the catalog.
var vendorNames = map[string]string{
	"amazon-bedrock": "aws.bedrock", "azure": "azure.ai.openai", "google": "gcp.gemini", "google-vertex": "gcp.vertex_ai",
	"google-vertex-anthropic": "gcp.vertex_ai", "mistral": "mistral_ai", "xai": "x_ai",
}

func (m measuredModel) begin(ctx context.Context, req *llm.Request) *measuredRequest {
	r := &measuredRequest{measuredModel: m, vendor: m.model.Ref.ProviderID, name: m.model.Ref.ID, began: time.Now()}
	if known := vendorNames[r.vendor]; known != "" {
		r.vendor = known
	}
	attributes := []telemetry.Attribute{
		{Key: "gen_ai.operation.name", Value: "chat"},
		{Key: "gen_ai.provider.name", Value: r.vendor},
		{Key: "gen_ai.request.model", Value: r.name},
	}
	if req.Session != "" {
		attributes = append(attributes, telemetry.Attribute{Key: "gen_ai.conversation.id", Value: req.Session})
	}
	if n := req.Generate.MaxTokens; n > 0 {
		attributes = append(attributes, telemetry.Attribute{Key: "gen_ai.request.max_tokens", Value: int64(n)})
	}
	r.span = m.measures.tracer.Start(telemetry.FromContext(ctx), "chat "+r.name, telemetry.KindClient, attributes...)
	return r
}

// note takes what matters of an event of the answer.
func (r *measuredRequest) note(e llm.Event, err error) {
	if err != nil {
		r.failure = string(llm.Unknown)
		if failure, ok := errors.AsType[*llm.Error](err); ok {
			r.failure, r.usage = string(failure.Class), failure.Usage
		}
		return
	}
	switch e := e.(type) {
	case llm.TextDelta:
		if r.measures.content && r.text.Len() < maxContent {
			r.text.WriteString(e.Delta)
		}
	case llm.Finish:
		r.usage = &e.Usage
		r.span.Set(telemetry.Attribute{Key: "gen_ai.response.finish_reasons", Value: []string{string(e.Reason)}})
	}
}

// end ends the request: its caller has read all of it, or has left.
func (r *measuredRequest) end() {
	if r.failure == string(llm.Aborted) { // by its caller, as by one that has left
		r.failure = ""
	}
	m := r.measures
	m.turns.Add(1, r.vendor, r.name)
	m.durations.Add(time.Since(r.began).Seconds(), r.vendor, r.name, "chat", r.failure)
	if r.failure != "" {
		r.span.Fail(r.failure)
		m.failures.Add(1, "turn", r.failure)
	}
	if r.usage != nil {
		r.addUsage(*r.usage)
	}
	if r.text.Len() > 0 {
		answer, err := json.Marshal([]map[string]any{{
			"role": "assistant", "parts": []map[string]string{{"type": "text", "content": session.ClipText(r.text.String(), maxContent)}},
		}})
		if err == nil {
			r.span.Set(telemetry.Attribute{Key: "gen_ai.output.messages", Value: string(answer)})
		}
	}
	r.span.End()
}

func (r *measuredRequest) addUsage(u llm.Usage) {
	m := r.measures
	r.span.Set(
		telemetry.Attribute{Key: "gen_ai.usage.input_tokens", Value: u.Input},
		telemetry.Attribute{Key: "gen_ai.usage.output_tokens", Value: u.Output},
		telemetry.Attribute{Key: "gen_ai.usage.cache_read.input_tokens", Value: u.CacheRead},
		telemetry.Attribute{Key: "gen_ai.usage.cache_creation.input_tokens", Value: u.CacheWrite},
	)
	m.usage.Add(float64(u.Input), r.vendor, r.name, "chat", "input")
	m.usage.Add(float64(u.Output), r.vendor, r.name, "chat", "output")
	for kind, n := range map[string]int64{
		"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite, "reasoning": u.Reasoning,
	} {
		if n > 0 {
			m.tokens.Add(float64(n), r.vendor, r.name, kind)
		}
	}
	if r.model.Cost == nil {
		return
	}
	if cost, known := r.model.Cost(u); known {
		r.span.Set(telemetry.Attribute{Key: "cairn.cost", Value: cost.Dollars()})
		m.cost.Add(cost.Dollars(), r.vendor, r.name)
	}
}
