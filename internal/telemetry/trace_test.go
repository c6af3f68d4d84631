package telemetry

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// TestParseTraceContext: the headers of W3C Trace Context are read as the recommendation has it.
func TestParseTraceContext(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for parent, want := range map[string]string{
		"00-" + trace + "-" + span + "-01":                    "sampled",
		"00-" + trace + "-" + span + "-00":                    "known",
		"00-" + trace + "-" + span + "-03":                    "sampled", // unknown flags
		"cc-" + trace + "-" + span + "-01-what-comes":         "sampled", // a later version
		"cc-" + trace + "-" + span + "-01":                    "sampled",
		"cc-" + trace + "-" + span + "-01.what-comes":         "",
		"00-" + trace + "-" + span + "-01-more":               "",
		"ff-" + trace + "-" + span + "-01":                    "",
		"0x-" + trace + "-" + span + "-01":                    "",
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": "",
		"00-" + trace[1:] + "g-" + span + "-01":               "",
		"00_" + trace + "-" + span + "-01":                    "",
		"00-" + trace + "-" + span:                            "",
		"":                                                    "",
	} {
		c, ok := ParseTraceContext(parent, "a=b")
		got := ""
		switch {
		case ok && c.Sampled:
			got = "sampled"
		case ok:
			got = "known"
		}
		if got != want || ok && (c.State != "a=b" || !strings.HasPrefix(c.Parent(), "00-"+trace+"-"+span)) {
			t.Errorf("%s is %q, want %q: %+v", parent, got, want, c)
		}
	}
	if c, _ := ParseTraceContext("00-"+trace+"-"+span+"-01", strings.Repeat("a", maxState+1)); c.State != "" {
		t.Error("a state that is too long is passed on")
	}
}

// TestTransport: a request to others names the span of its context, and that of a client is read. Two headers are none.
func TestTransport(t *testing.T) {
	c, _ := ParseTraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b")
	var sent http.Header
	next := roundTrip(func(r *http.Request) (*http.Response, error) { sent = r.Header; return nil, http.ErrNotSupported })
	r, _ := http.NewRequestWithContext(WithTrace(t.Context(), c), http.MethodGet, "http://x", nil)
	_, _ = NewTransport(next).RoundTrip(r)
	if sent.Get("traceparent") != c.Parent() || sent.Get("tracestate") != "a=b" || len(r.Header) > 0 {
		t.Errorf("sent: %v; the request itself: %v", sent, r.Header)
	}
	in := &http.Request{Header: sent}
	if got := FromContext(FromRequest(in.WithContext(t.Context())).Context()); got != c {
		t.Errorf("read: %+v", got)
	}
	sent.Add("Traceparent", c.Parent())
	if got := FromContext(FromRequest(in.WithContext(t.Context())).Context()); !got.IsZero() {
		t.Errorf("two headers are read: %+v", got)
	}
	r, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", nil)
	if _, _ = NewTransport(next).RoundTrip(r); len(sent) > 0 {
		t.Errorf("without a span: %v", sent)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOff: without a tracer and metrics nothing happens and nothing is allocated.
func TestOff(t *testing.T) {
	var tracer *Tracer
	var m *Metric
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		s := tracer.Start(FromContext(ctx), "x", KindInternal)
		if WithTrace(ctx, s.Context()) != ctx {
			t.Error("there is a trace")
		}
		s.Fail("x")
		s.End()
		m.Add(1)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
