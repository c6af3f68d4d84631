package telemetry

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// The messages of OTLP in the JSON mapping of proto3: ids in hex, 64-bit numbers as texts, enums as numbers.

type tracesData struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []keyValue `json:"attributes"`
}

type scopeSpans struct {
	Scope instrumentation `json:"scope"`
	Spans []spanData      `json:"spans"`
}

type instrumentation struct {
	Name string `json:"name"`
}

type spanData struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	State      string      `json:"traceState,omitzero"`
	ParentID   string      `json:"parentSpanId,omitzero"`
	Flags      uint32      `json:"flags"`
	Name       string      `json:"name"`
	Kind       SpanKind    `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []keyValue  `json:"attributes,omitempty"`
	Status     *spanStatus `json:"status,omitzero"`
}

type spanStatus struct {
	Message string `json:"message,omitzero"`
	Code    int    `json:"code"`
}

// statusError is the code of a failure.
const statusError = 2

type metricsData struct {
	ResourceMetrics []resourceMetrics `json:"resourceMetrics"`
}

type resourceMetrics struct {
	Resource     resource       `json:"resource"`
	ScopeMetrics []scopeMetrics `json:"scopeMetrics"`
}

type scopeMetrics struct {
	Scope   instrumentation `json:"scope"`
	Metrics []metricData    `json:"metrics"`
}

type metricData struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Unit        string  `json:"unit,omitzero"`
	Sum         *points `json:"sum,omitzero"`
	Gauge       *points `json:"gauge,omitzero"`
	Histogram   *points `json:"histogram,omitzero"`
}

type points struct {
	Points      []dataPoint `json:"dataPoints"`
	Temporality int         `json:"aggregationTemporality,omitzero"`
	IsMonotonic bool        `json:"isMonotonic,omitzero"`
}

// cumulative is the temporality of values since the start.
const cumulative = 2

type dataPoint struct {
	Attributes []keyValue `json:"attributes,omitempty"`
	Start      string     `json:"startTimeUnixNano,omitzero"`
	Time       string     `json:"timeUnixNano"`
	Value      *float64   `json:"asDouble,omitzero"`
	Count      string     `json:"count,omitzero"` // this and what follows: of a histogram
	Sum        *float64   `json:"sum,omitzero"`
	Buckets    []string   `json:"bucketCounts,omitempty"`
	Bounds     []float64  `json:"explicitBounds,omitempty"`
}

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	String *string    `json:"stringValue,omitzero"`
	Bool   *bool      `json:"boolValue,omitzero"`
	Int    *string    `json:"intValue,omitzero"`
	Double *float64   `json:"doubleValue,omitzero"`
	Array  *arrayData `json:"arrayValue,omitzero"`
}

type arrayData struct {
	Values []anyValue `json:"values"`
}

// encodeSpans returns the request for the spans.
func (e *Exporter) encodeSpans(spans []*Span) ([]byte, error) {
	list := make([]spanData, len(spans))
	for i, s := range spans {
		list[i] = s.encode()
	}
	return json.Marshal(tracesData{[]resourceSpans{{
		resource{encodeAttributes(e.config.Resource)}, []scopeSpans{{instrumentation{scopeName}, list}},
	}}})
}

// scopeName is what measured.
const scopeName = "cairn"

func (s *Span) encode() spanData {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := spanData{
		TraceID: hex.EncodeToString(s.context.Trace[:]), SpanID: hex.EncodeToString(s.context.Span[:]),
		State: s.context.State, Flags: 1, Name: cleanText(s.name), Kind: s.kind,
		Start: formatTime(s.start), End: formatTime(s.end), Attributes: encodeAttributes(s.attributes),
	}
	if s.parent != [8]byte{} {
		d.ParentID = hex.EncodeToString(s.parent[:])
	}
	if s.failure != "" {
		d.Status = &spanStatus{cleanText(s.failure), statusError}
	}
	return d
}

// encodeMetrics returns the request for the metrics of the registry.
func (e *Exporter) encodeMetrics(r *Registry) ([]byte, error) {
	now, start := formatTime(time.Now()), formatTime(r.start)
	var list []metricData
	for _, m := range r.metrics {
		p := &points{}
		for _, s := range m.snapshot() {
			p.Points = append(p.Points, m.encodePoint(s, start, now))
		}
		if len(p.Points) == 0 {
			continue
		}
		d := metricData{Name: m.Name, Description: m.Help, Unit: m.Unit}
		switch m.kind {
		case gauge:
			d.Gauge = p
		case counter:
			p.Temporality, p.IsMonotonic, d.Sum = cumulative, true, p
		case histogram:
			p.Temporality, d.Histogram = cumulative, p
		}
		list = append(list, d)
	}
	return json.Marshal(metricsData{[]resourceMetrics{{
		resource{encodeAttributes(e.config.Resource)}, []scopeMetrics{{instrumentation{scopeName}, list}},
	}}})
}

func (m *Metric) encodePoint(s series, start, now string) dataPoint {
	d := dataPoint{Start: start, Time: now}
	for i, value := range s.labels {
		if value != "" {
			d.Attributes = append(d.Attributes, keyValue{m.Labels[i], encodeValue(value)})
		}
	}
	switch m.kind {
	case gauge:
		d.Start, d.Value = "", &s.value
	case counter:
		d.Value = &s.value
	case histogram:
		d.Count, d.Sum, d.Bounds = strconv.FormatUint(s.count, 10), &s.value, m.Bounds
		for _, n := range s.buckets {
			d.Buckets = append(d.Buckets, strconv.FormatUint(n, 10))
		}
	}
	return d
}

func encodeAttributes(list []Attribute) []keyValue {
	out := make([]keyValue, len(list))
	for i, a := range list {
		out[i] = keyValue{a.Key, encodeValue(a.Value)}
	}
	return out
}

func encodeValue(v any) anyValue {
	switch v := v.(type) {
	case string:
		text := cleanText(v)
		return anyValue{String: &text}
	case bool:
		return anyValue{Bool: &v}
	case int64:
		text := strconv.FormatInt(v, 10)
		return anyValue{Int: &text}
	case float64:
		return anyValue{Double: &v}
	case []string:
		a := &arrayData{Values: []anyValue{}}
		for _, one := range v {
			a.Values = append(a.Values, encodeValue(one))
		}
		return anyValue{Array: a}
	default:
		return anyValue{}
	}
}

// cleanText makes a text valid UTF-8: receivers refuse a whole batch with another one.
func cleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func formatTime(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
