package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

// TraceContext is the place of a span in a trace, as W3C Trace Context has it. The zero value names no span.
type TraceContext struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
	State   string // the header tracestate, which is passed on
}

// maxState bounds the bytes of a tracestate that is passed on.
const maxState = 512

// ParseTraceContext reads the headers traceparent and tracestate.
func ParseTraceContext(parent, state string) (c TraceContext, ok bool) {
	// Version 00 has exactly these four fields; later versions may have more behind them.
	if len(parent) < 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || strings.ToLower(parent) != parent {
		return c, false
	}
	version := parent[:2]
	if version == "ff" || version == "00" && len(parent) > 55 || len(parent) > 55 && parent[55] != '-' {
		return c, false
	}
	var one, flags [1]byte
	for _, f := range []struct {
		to   []byte
		text string
	}{{one[:], version}, {c.Trace[:], parent[3:35]}, {c.Span[:], parent[36:52]}, {flags[:], parent[53:55]}} {
		if _, err := hex.Decode(f.to, []byte(f.text)); err != nil {
			return TraceContext{}, false
		}
	}
	if c.Trace == [16]byte{} || c.Span == [8]byte{} {
		return TraceContext{}, false
	}
	c.Sampled = flags[0]&1 == 1
	if len(state) <= maxState {
		c.State = state
	}
	return c, true
}

// IsZero reports whether there is no trace.
func (c TraceContext) IsZero() bool { return c.Trace == [16]byte{} }

// Parent returns the value of the header traceparent; "" without a trace.
func (c TraceContext) Parent() string {
	if c.IsZero() {
		return ""
	}
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Span[:]) + flags
}

type contextKey struct{}

// WithTrace returns a context in which c is the trace, ctx if c is zero.
func WithTrace(ctx context.Context, c TraceContext) context.Context {
	if c.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, c)
}

// FromContext returns the trace of the context, zero without one.
func FromContext(ctx context.Context) TraceContext {
	c, _ := ctx.Value(contextKey{}).(TraceContext)
	return c
}

// FromRequest returns the request with the trace that its headers name in its context.
func FromRequest(r *http.Request) *http.Request {
	parents := r.Header.Values("Traceparent")
	if len(parents) != 1 {
		return r
	}
	c, ok := ParseTraceContext(parents[0], strings.Join(r.Header.Values("Tracestate"), ","))
	if !ok {
		return r
	}
	return r.WithContext(WithTrace(r.Context(), c))
}

// NewTransport returns a transport that adds the trace of its context to each request.
func NewTransport(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if c := FromContext(r.Context()); !c.IsZero() {
		r = r.Clone(r.Context())
		r.Header.Set("Traceparent", c.Parent())
		if c.State != "" {
			r.Header.Set("Tracestate", c.State)
		}
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of the next transport, for http.Client.
func (t *transport) CloseIdleConnections() { (&http.Client{Transport: t.next}).CloseIdleConnections() }

// SpanKind is the kind of a span, with the numbers of OTLP.
type SpanKind int

// The kinds of spans.
const (
	KindInternal SpanKind = 1
	KindClient   SpanKind = 3
)

// Tracer begins spans and hands those that ended to its exporter. A nil Tracer begins none.
type Tracer struct {
	exporter *Exporter
}

// NewTracer returns a tracer whose spans the exporter gets.
func NewTracer(e *Exporter) *Tracer { return &Tracer{e} }

// Span is a piece of work. Safe for concurrent use. A nil Span has no effect.
type Span struct {
	exporter *Exporter
	context  TraceContext
	parent   [8]byte // zero for the first span of a trace
	name     string
	kind     SpanKind
	start    time.Time

	mu         sync.Mutex // guards the rest
	end        time.Time  // zero until it has ended
	attributes []Attribute
	failure    string // the kind of its failure; "" without one
}

// Start begins a span below the parent, or a trace of its own if the parent is zero. A parent that is not sampled has no
// sampled spans below it.
func (t *Tracer) Start(parent TraceContext, name string, kind SpanKind, attributes ...Attribute) *Span {
	if t == nil {
		return nil
	}
	s := &Span{exporter: t.exporter, name: name, kind: kind, start: time.Now(), attributes: attributes}
	s.context, s.parent = parent, parent.Span
	if parent.IsZero() {
		_, _ = rand.Read(s.context.Trace[:]) // never fails
		s.context.Sampled = true
	}
	_, _ = rand.Read(s.context.Span[:])
	return s
}

// Context returns the place of the span, for those below it.
func (s *Span) Context() TraceContext {
	if s == nil {
		return TraceContext{}
	}
	return s.context
}

// maxAttributes bounds the attributes of a span.
const maxAttributes = 64

// Set adds attributes.
func (s *Span) Set(attributes ...Attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attributes = append(s.attributes, attributes[:min(len(attributes), max(0, maxAttributes-len(s.attributes)))]...)
}

// Fail marks the span as failed, with the kind of the failure.
func (s *Span) Fail(kind string) {
	if s == nil {
		return
	}
	s.Set(Attribute{"error.type", kind})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = kind
}

// End ends the span. Only the first call counts.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	isFirst := s.end.IsZero()
	if isFirst {
		s.end = time.Now()
	}
	s.mu.Unlock()
	if isFirst && s.context.Sampled {
		s.exporter.add(s)
	}
}
