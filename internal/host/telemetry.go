package host

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/telemetry"
)

// measures are the telemetry of one process: spans and metrics with the names of OpenTelemetry's conventions for
// generative AI (of which version 1.37 is the newest with these names), and cairn's own metrics. Nil without telemetry.
type measures struct {
	exporter *telemetry.Exporter // nil: nothing is sent
	tracer   *telemetry.Tracer   // nil: no spans
	registry *telemetry.Registry
	content  bool // spans have texts

	turns, calls, tokens, cost, failures, durations, usage *telemetry.Metric

	mu      sync.Mutex // guards parents
	parents map[session.MessageID]telemetry.TraceContext
}

// maxParents bounds the prompts whose traces are remembered; if there are more, all of them are forgotten.
const maxParents = 1000

// openMeasures returns the telemetry that the user's configuration and the environment ask for.
func (w *owner) openMeasures(o client.Options, c config.Telemetry) *measures {
	s := telemetry.Settings{Endpoint: c.Endpoint, Headers: c.Headers}
	s.Resource = []telemetry.Attribute{{Key: "service.version", Value: o.Version}, {Key: "process.pid", Value: int64(os.Getpid())}}
	s, err := telemetry.ReadSettings(s, o.Env)
	switch isOff := c.Enabled != nil && !*c.Enabled; {
	case isOff || o.Replay != "":
		s.Endpoint = ""
	case err != nil:
		w.logger.Warn("no telemetry is sent", "reason", err)
	case s.IsUnsupported:
		w.logger.Warn("telemetry is sent as JSON over HTTP, although OTEL_EXPORTER_OTLP_PROTOCOL names another protocol")
	}
	if s.Endpoint == "" && !c.Prometheus {
		return nil
	}
	m := &measures{registry: telemetry.NewRegistry(), content: c.Content, parents: map[session.MessageID]telemetry.TraceContext{}}
	m.makeMetrics()
	w.makeGauges(m, o.Version)
	if s.Endpoint == "" {
		return m
	}
	e := telemetry.Config{Settings: s, Transport: provider.NewLazyTransport(), Logger: w.logger}
	if !s.SkipMetrics {
		e.Metrics = m.registry
	}
	m.exporter = telemetry.NewExporter(e)
	if !s.SkipTraces {
		m.tracer = telemetry.NewTracer(m.exporter)
	}
	return m
}

func (m *measures) makeMetrics() {
	counter := func(name, unit, help string, open int, labels ...string) *telemetry.Metric {
		return m.registry.NewCounter(telemetry.Description{Name: name, Unit: unit, Help: help, Labels: labels, UnboundedLabels: open})
	}
	const vendor, model = "gen_ai.provider.name", "gen_ai.request.model"
	m.turns = counter("cairn.turns", "", "Requests to models.", 2, vendor, model)
	m.calls = counter("cairn.calls", "", "Calls of tools.", 1, "gen_ai.tool.name", "outcome")
	m.tokens = counter("cairn.tokens", "", "Tokens of requests to models.", 2, vendor, model, "gen_ai.token.type")
	m.cost = counter("cairn.cost", "USD", "Cost of requests to models in US dollars, as far as it is known.", 2, vendor, model)
	m.failures = counter("cairn.errors", "", "Failures of requests, calls and work, by their kind.", 0, "of", "error.type")
	histogram := func(name, unit, help string, bounds []float64, labels ...string) *telemetry.Metric {
		return m.registry.NewHistogram(telemetry.Description{
			Name: name, Unit: unit, Help: help, Labels: append([]string{vendor, model, "gen_ai.operation.name"}, labels...),
			UnboundedLabels: 2, Bounds: bounds,
		})
	}
	m.durations = histogram("gen_ai.client.operation.duration", "s", "Duration of requests to models.", []float64{
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
	}, "error.type")
	m.usage = histogram("gen_ai.client.token.usage", "{token}", "Tokens of each request to a model.", []float64{
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
	}, "gen_ai.token.type")
}

// makeGauges makes the metrics that are read from the owner.
func (w *owner) makeGauges(m *measures, version string) {
	gauge := func(name, help string, read func(add func(float64, ...string)), labels ...string) {
		m.registry.NewGauge(telemetry.Description{Name: name, Help: help, Labels: labels}, read)
	}
	gauge("cairn.sessions.working", "Sessions at work.", func(add func(float64, ...string)) {
		add(float64(len(w.engine.Active())))
	})
	gauge("cairn.asks.waiting", "Asks of this process that wait for a person.", func(add func(float64, ...string)) {
		n := 0
		for _, id := range w.engine.Active() {
			n += w.engine.Asks.CountWaiting(id)
		}
		add(float64(n))
	})
	gauge("cairn.queue.dropped", "What was dropped because a queue was full, or could not be sent, by queue.",
		func(add func(float64, ...string)) {
			add(float64(w.engine.CountDroppedEvents()), "events")
			add(float64(w.locations.sender.CountDropped()), "notify")
			add(float64(m.exporter.Dropped()), "spans")
		}, "queue")
	gauge("cairn.build.info", "The version of this process.", func(add func(float64, ...string)) {
		add(1, version, runtime.Version())
	}, "version", "goversion")
}

// metricsWriter returns what writes the metrics for GET /metrics; nil if that is not configured.
func (w *owner) metricsWriter(isConfigured bool) func(io.Writer) error {
	if !isConfigured || w.measures == nil {
		return nil
	}
	return w.measures.registry.WritePrometheus
}

// chainExtension returns the extension that follows work and calls.
func (m *measures) chainExtension() extension.Extension {
	e := extension.Extension{ID: "telemetry", Lenient: true, Observe: m.observe}
	if m.tracer != nil {
		e.Prompt, e.Environment = m.notePrompt, m.setVariable
	}
	return e
}

// notePrompt remembers in which trace a prompt came: that of its client, or of the call of the subagent.
func (m *measures) notePrompt(ctx context.Context, p *extension.Prompt) error {
	if c := telemetry.FromContext(ctx); !c.IsZero() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.parents) >= maxParents {
			clear(m.parents)
		}
		m.parents[p.MessageID] = c
	}
	return nil
}

// takeParent returns the trace in which the prompt came, and forgets it.
func (m *measures) takeParent(id session.MessageID) telemetry.TraceContext {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.parents[id]
	delete(m.parents, id)
	return c
}

// setVariable names the span of the call to its command.
func (m *measures) setVariable(ctx context.Context, e *extension.Environment) error {
	if c := telemetry.FromContext(ctx); !c.IsZero() {
		e.Variables = maps.Clone(e.Variables)
		if e.Variables == nil {
			e.Variables = map[string]string{}
		}
		e.Variables["TRACEPARENT"] = c.Parent()
	}
	return nil
}

// observe begins the span of work or of a call.
func (m *measures) observe(ctx context.Context, a extension.Activity) extension.Observation {
	m.exporter.Start()
	parent, name, of := telemetry.FromContext(ctx), "invoke_agent "+a.Agent, "work"
	attributes := []telemetry.Attribute{
		{Key: "gen_ai.operation.name", Value: "invoke_agent"},
		{Key: "gen_ai.agent.name", Value: a.Agent},
		{Key: "gen_ai.conversation.id", Value: string(a.SessionID)},
	}
	switch {
	case a.Tool != "":
		name, of = "execute_tool "+a.Tool, "call"
		attributes[0].Value = "execute_tool"
		attributes = append(attributes, telemetry.Attribute{Key: "gen_ai.tool.name", Value: a.Tool},
			telemetry.Attribute{Key: "gen_ai.tool.type", Value: "function"},
			telemetry.Attribute{Key: "gen_ai.tool.call.id", Value: a.CallID})
		if m.content {
			attributes = append(attributes,
				telemetry.Attribute{Key: "gen_ai.tool.call.arguments", Value: session.ClipText(string(a.Input), maxContent)})
		}
	case m.tracer != nil:
		parent = m.takeParent(a.MessageID)
	}
	span := m.tracer.Start(parent, name, telemetry.KindInternal, attributes...)
	return extension.Observation{
		Attach: func(ctx context.Context) context.Context { return telemetry.WithTrace(ctx, span.Context()) },
		End: func(o extension.Outcome) {
			outcome := "succeeded"
			switch o.Failure {
			case "":
			case session.ReasonAborted: // by the user: no failure
				outcome = "stopped"
			default:
				outcome = "failed"
				span.Fail(string(o.Failure))
				m.failures.Add(1, of, string(o.Failure))
			}
			if a.Tool != "" {
				m.calls.Add(1, a.Tool, outcome)
			}
			if m.content && len(o.Content) > 0 {
				span.Set(telemetry.Attribute{Key: "gen_ai.tool.call.result", Value: joinTexts(o.Content)})
			}
			span.End()
		},
	}
}

// maxContent bounds the bytes of a text in a span.
const maxContent = 16 << 10

// joinTexts returns the text of a result.
func joinTexts(content []session.ToolContent) string {
	var texts []string
	for _, c := range content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return session.ClipText(strings.Join(texts, "\n"), maxContent)
}

// wrapTransport returns a transport to providers that names the span of each request to them.
func (m *measures) wrapTransport(next http.RoundTripper) http.RoundTripper {
	if m == nil || m.tracer == nil {
		return next
	}
	return telemetry.NewTransport(next)
}

// closeTelemetry sends the messages, spans and metrics that wait, all at once, within a bound.
func (w *owner) closeTelemetry() {
	ctx, cancel := context.WithTimeout(context.Background(), maxFlush)
	defer cancel()
	var closing sync.WaitGroup
	defer closing.Wait()
	if w.locations != nil {
		closing.Go(func() { w.locations.sender.Close(ctx) })
	}
	if w.measures != nil {
		closing.Go(func() {
			if err := w.measures.exporter.Close(ctx); err != nil {
				w.logger.Warn("not all telemetry was sent", "error", err)
			}
		})
	}
}

// maxFlush bounds the wait of the end of the process for receivers of messages and of telemetry.
const maxFlush = 2 * time.Second
