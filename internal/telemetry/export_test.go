package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/telemetry"
	"github.com/cairn-dev/cairn/internal/test/otlptest"
)

// newExporter returns an exporter to the collector, and its log.
func newExporter(c *otlptest.Collector, r *telemetry.Registry) (*telemetry.Exporter, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return telemetry.NewExporter(telemetry.Config{
		Settings: telemetry.Settings{
			Endpoint: "http://collector:4318", Headers: map[string]string{"Authorization": "Bearer s3cr3t"},
			Resource: []telemetry.Attribute{{Key: "service.name", Value: "test"}},
		},
		Metrics: r, Transport: c, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}), log
}

// end closes the exporter within a time, and checks what the collector got.
func end(t *testing.T, e *telemetry.Exporter, c *otlptest.Collector, within time.Duration) []otlptest.Span {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	began := time.Now()
	_ = e.Close(ctx)
	if took := time.Since(began); took > within {
		t.Errorf("Close took %v", took)
	}
	spans, err := c.Spans()
	if err != nil {
		t.Error(err)
	}
	return spans
}

// TestExport: spans arrive in batches, in the JSON mapping of proto3, with headers and resource; metrics follow.
func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &otlptest.Collector{}
		r := telemetry.NewRegistry()
		counted := r.NewCounter(telemetry.Description{Name: "a.count", Labels: []string{"kind"}})
		sizes := r.NewHistogram(telemetry.Description{Name: "a.size", Unit: "s", Bounds: []float64{1, 2}})
		r.NewGauge(telemetry.Description{Name: "a.now"}, func(add func(float64, ...string)) { add(7) })
		e, _ := newExporter(c, r)
		tracer := telemetry.NewTracer(e)
		outer := tracer.Start(telemetry.TraceContext{}, "outer", telemetry.KindInternal,
			telemetry.Attribute{Key: "text", Value: "a\xffb"}, telemetry.Attribute{Key: "list", Value: []string{"x", "y"}})
		inner := tracer.Start(outer.Context(), "inner", telemetry.KindClient)
		inner.Set(telemetry.Attribute{Key: "n", Value: int64(1) << 60}, telemetry.Attribute{Key: "f", Value: 0.5},
			telemetry.Attribute{Key: "b", Value: true})
		inner.Fail("timeout")
		inner.End()
		inner.End()
		outer.End()
		counted.Add(2, "x")
		counted.Add(1, "")
		for _, v := range []float64{0.5, 1, 1.5, 9} {
			sizes.Add(v)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if spans, err := c.Spans(); len(spans) != 2 || err != nil {
			t.Fatalf("after the time of a batch: %+v %v", spans, err)
		}
		spans := end(t, e, c, time.Second)
		in, out := spans[0], spans[1]
		if c.Tree() != "outer\n  inner\n" || in.Trace != out.Trace || in.Kind != 3 || out.Kind != 1 || in.Failure != "timeout" {
			t.Errorf("%s%+v", c.Tree(), spans)
		}
		if diff := cmp.Diff([]map[string]any{
			{"n": int64(1) << 60, "f": 0.5, "b": true, "error.type": "timeout"},
			{"text": "a\uFFFDb", "list": []any{"x", "y"}},
		}, []map[string]any{in.Attributes, out.Attributes}); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]otlptest.Metric{
			{Kind: "sum", Values: map[string]float64{"": 1, "kind=x": 2}, Counts: map[string]uint64{}},
			{Kind: "histogram", Unit: "s", Values: map[string]float64{"": 12}, Counts: map[string]uint64{"": 4}},
			{Kind: "gauge", Values: map[string]float64{"": 7}, Counts: map[string]uint64{}},
		}, []otlptest.Metric{c.Metric("a.count"), c.Metric("a.size"), c.Metric("a.now")}); diff != "" {
			t.Error(diff)
		}
		if h := c.Requests()[0].Header; h.Get("Authorization") != "Bearer s3cr3t" || c.Resource("service.name") != "test" {
			t.Errorf("headers %v, service %v", h, c.Resource("service.name"))
		}
	})
}

// TestUnsampled: what the client does not sample is not sent, and what is below it neither.
func TestUnsampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &otlptest.Collector{}
		e, _ := newExporter(c, nil)
		parent, _ := telemetry.ParseTraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "")
		s := telemetry.NewTracer(e).Start(parent, "x", telemetry.KindInternal)
		s.End()
		if spans := end(t, e, c, time.Second); len(spans) > 0 || s.Context().Sampled || len(c.Requests()) > 0 {
			t.Errorf("%+v is sent", spans)
		}
	})
}

// TestFailures: a batch is sent again after failures that may pass, at the time that the collector asks for, and dropped
// and counted after others. The log has neither address nor headers.
func TestFailures(t *testing.T) {
	status := func(code int, after string) func(int, http.ResponseWriter, *http.Request) bool {
		return func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 2 {
				return false
			}
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(code)
			return true
		}
	}
	for name, x := range map[string]struct {
		answer    func(int, http.ResponseWriter, *http.Request) bool
		wait      time.Duration // until the outcome
		requests  int
		spans     int
		dropped   int64
		logs      string
		notBefore time.Duration
	}{
		"429 in seconds":    {answer: status(429, "60"), wait: 130 * time.Second, requests: 3, spans: 1, logs: "", notBefore: 124 * time.Second},
		"503 with a date":   {answer: status(503, "Sat, 01 Jan 2000 00:01:00 GMT"), wait: 64 * time.Second, requests: 3, spans: 1, notBefore: 60 * time.Second},
		"502":               {answer: status(502, ""), wait: 20 * time.Second, requests: 3, spans: 1},
		"504 with nonsense": {answer: status(504, "soon"), wait: 20 * time.Second, requests: 3, spans: 1},
		"a wait too long":   {answer: status(503, "100000"), wait: 11 * time.Minute, requests: 3, spans: 1, notBefore: 10 * time.Minute},
		"400":               {answer: status(400, ""), wait: time.Minute, requests: 1, dropped: 1, logs: "400 Bad Request"},
		"500":               {answer: status(500, ""), wait: time.Minute, requests: 1, dropped: 1, logs: "500"},
		"a redirect": {answer: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", "http://evil.example/")
			w.WriteHeader(307)
			return true
		}, wait: time.Minute, requests: 1, dropped: 1, logs: "307"},
		"always 503": {answer: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(503)
			return true
		}, wait: 5 * time.Minute, requests: 5, dropped: 1, logs: "503"},
		"it hangs": {answer: func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}, wait: 10 * time.Minute, requests: 5, dropped: 1, logs: "no answer"},
		"partly": {answer: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, `{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too long"}}`)
			return true
		}, wait: time.Minute, requests: 1, dropped: 1, logs: "too long"},
		"a flood": {answer: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			for range 1000 {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
			}
			return true
		}, wait: time.Minute, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &otlptest.Collector{Answer: x.answer}
				e, log := newExporter(c, nil)
				telemetry.NewTracer(e).Start(telemetry.TraceContext{}, "x", telemetry.KindInternal).End()
				if x.notBefore > 0 {
					time.Sleep(x.notBefore)
					if spans, _ := c.Spans(); len(spans) > 0 {
						t.Error("it does not wait as long as it is asked to")
					}
				}
				time.Sleep(x.wait)
				synctest.Wait()
				spans, err := c.Spans()
				if err != nil || len(spans) != x.spans || len(c.Requests()) != x.requests || e.Dropped() != x.dropped {
					t.Errorf("%d spans after %d requests, %d dropped, %v", len(spans), len(c.Requests()), e.Dropped(), err)
				}
				end(t, e, c, time.Second)
				if text := log.String(); !strings.Contains(text, x.logs) || strings.Contains(text, "s3cr3t") {
					t.Errorf("the log: %s", text)
				}
			})
		})
	}
}

// TestBounds: while a collector hangs the queue is bounded, what is too much is counted, those who measure do not wait,
// and neither does the end of the process.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &otlptest.Collector{Answer: func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}}
		e, log := newExporter(c, nil)
		tracer := telemetry.NewTracer(e)
		began := time.Now()
		for range 10_000 {
			tracer.Start(telemetry.TraceContext{}, "x", telemetry.KindInternal).End()
		}
		if took := time.Since(began); took > 0 || e.Dropped() < 10_000-2*2048-512 {
			t.Errorf("%d are dropped after %v", e.Dropped(), took)
		}
		end(t, e, c, 2*time.Second)
		if e.Dropped() != 10_000 || !strings.Contains(log.String(), "spans=10000") {
			t.Errorf("%d are dropped: %s", e.Dropped(), log)
		}
		tracer.Start(telemetry.TraceContext{}, "late", telemetry.KindInternal).End()
		if e.Dropped() != 10_001 {
			t.Error("a span after the end is not counted")
		}
	})
}

// TestBatches: no request has more than 512 spans, and a full batch does not wait for its time.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &otlptest.Collector{}
		e, _ := newExporter(c, nil)
		tracer := telemetry.NewTracer(e)
		for range 1100 {
			tracer.Start(telemetry.TraceContext{}, "x", telemetry.KindInternal).End()
		}
		synctest.Wait()
		if spans := end(t, e, c, time.Second); len(spans) != 1100 || len(c.Requests()) < 3 || e.Dropped() != 0 {
			t.Errorf("%d spans in %d requests", len(spans), len(c.Requests()))
		}
	})
}

// TestUnused: an exporter that nothing was measured for sends nothing at its end.
func TestUnused(t *testing.T) {
	c := &otlptest.Collector{}
	e, _ := newExporter(c, telemetry.NewRegistry())
	if end(t, e, c, time.Second); len(c.Requests()) > 0 {
		t.Errorf("%d requests", len(c.Requests()))
	}
}

// TestPrometheus: metrics in the text form, with escapes, and with bounded label sets.
func TestPrometheus(t *testing.T) {
	r := telemetry.NewRegistry()
	counted := r.NewCounter(telemetry.Description{
		Name: "cairn.cost", Unit: "USD", Help: "Lines\nand \\.", Labels: []string{"gen_ai.request.model", "kind"}, UnboundedLabels: 1,
	})
	sizes := r.NewHistogram(telemetry.Description{Name: "took", Unit: "s", Help: "Time.", Bounds: []float64{0.5, 1}})
	r.NewGauge(telemetry.Description{Name: "now", Help: "Now."}, func(add func(float64, ...string)) { add(7) })
	counted.Add(0.25, "a\"b\\c\nd\xff", "")
	for _, v := range []float64{0.5, 0.7, 3} {
		sizes.Add(v)
	}
	var text strings.Builder
	if err := r.WritePrometheus(&text); err != nil {
		t.Fatal(err)
	}
	want := `# HELP cairn_cost_usd_total Lines\nand \\.
# TYPE cairn_cost_usd_total counter
cairn_cost_usd_total{gen_ai_request_model="a\"b\\c\nd` + "\uFFFD" + `"} 0.25
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.5"} 1
took_seconds_bucket{le="1"} 2
took_seconds_bucket{le="+Inf"} 3
took_seconds_sum 4.2
took_seconds_count 3
# HELP now Now.
# TYPE now gauge
now 7
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	for i := range 5000 {
		counted.Add(1, fmt.Sprint(i), []string{"a", "b"}[i%2])
	}
	text.Reset()
	_ = r.WritePrometheus(&text)
	if n := strings.Count(text.String(), "cairn_cost_usd_total{"); n > 202 || !strings.Contains(text.String(), `{gen_ai_request_model="other",kind="b"} 24`) {
		t.Errorf("%d series", n)
	}
}

// TestSettings: the usual variables count where the configuration says nothing; a configured endpoint gets no headers
// of the environment.
func TestSettings(t *testing.T) {
	for name, x := range map[string]struct {
		given telemetry.Settings
		env   map[string]string
		want  string
	}{
		"nothing":  {want: "  map[] cairn false false false <nil>"},
		"endpoint": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318/"}, want: "http://localhost:4318 map[] cairn false false false <nil>"},
		"all": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "https://x/otlp", "OTEL_EXPORTER_OTLP_HEADERS": "a=b%20c, D = e ,bad,=x,f=%zz",
				"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other",
				"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
			}, want: "https://x/otlp map[D:e a:b c] mine true true true <nil>",
		},
		"configured": {
			given: telemetry.Settings{Endpoint: "https://own", Headers: map[string]string{"k": "v"}},
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "https://x", "OTEL_EXPORTER_OTLP_HEADERS": "a=b",
				"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other",
			}, want: "https://own map[k:v] other false false false <nil>",
		},
		"disabled": {
			given: telemetry.Settings{Endpoint: "https://own"}, env: map[string]string{"OTEL_SDK_DISABLED": "TRUE"},
			want: "  map[] <nil> false false false <nil>",
		},
		"user": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a:s3cr3t@x"},
			want: " map[] cairn false false false the endpoint for telemetry must look like http://localhost:4318, with headers in the place for them",
		},
		"no address": {
			given: telemetry.Settings{Endpoint: "localhost:4318"},
			want:  " map[] cairn false false false the endpoint for telemetry must look like http://localhost:4318, with headers in the place for them",
		},
	} {
		s, err := telemetry.ReadSettings(x.given, func(name string) string { return x.env[name] })
		var service any
		if len(s.Resource) > 0 {
			service = s.Resource[0].Value
		}
		got := fmt.Sprint(s.Endpoint, " ", s.Headers, " ", service, " ", s.SkipTraces, " ", s.SkipMetrics, " ", s.IsUnsupported, " ", err)
		if strings.TrimSpace(got) != strings.TrimSpace(x.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, x.want)
		}
	}
}
