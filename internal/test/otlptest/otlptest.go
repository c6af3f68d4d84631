// Package otlptest is a collector of OpenTelemetry for tests. It accepts OTLP as JSON over HTTP, and holds requests to the
// JSON mapping of proto3: ids in hex, 64-bit numbers as texts, enums as numbers, names in lowerCamelCase.
package otlptest

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Collector keeps what it gets. It is a handler, and a transport to itself.
type Collector struct {
	// Answer, if set, is called with the number of each request, from 1, and may answer it; it returns whether it did.
	Answer func(n int, w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex // guards the rest
	requests []Request
	problems []error
	spans    []Span
	metrics  map[string]Metric
	resource map[string]any
}

// Request is one request.
type Request struct {
	Path   string
	Header http.Header
}

// Span is a span. Values of attributes are texts, int64, float64, bool or []any.
type Span struct {
	Trace, ID, Parent, Name, Failure string
	Kind                             int
	Attributes                       map[string]any
}

// Metric is the newest state of a metric.
type Metric struct {
	Kind   string // sum, gauge or histogram
	Unit   string
	Values map[string]float64 // by the attributes as key=value with commas between; the sum of a histogram
	Counts map[string]uint64  // of a histogram
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	c.requests = append(c.requests, Request{r.URL.Path, r.Header.Clone()})
	n := len(c.requests)
	c.mu.Unlock()
	if c.Answer != nil && c.Answer(n, w, r) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		err = c.take(r, body)
	}
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("%s: %w: %.300s", r.URL.Path, err, body))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// RoundTrip implements http.RoundTripper without a network.
func (c *Collector) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Requests returns the requests so far.
func (c *Collector) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// Spans returns the spans so far. An error is a request that was malformed.
func (c *Collector) Spans() ([]Span, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans), errors.Join(c.problems...)
}

// Metric returns a metric.
func (c *Collector) Metric(name string) Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[name]
}

// Resource returns an attribute of the sender.
func (c *Collector) Resource(key string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource[key]
}

// Tree returns the spans as lines, each below its parent and indented by its depth, siblings by name. A span whose parent
// the collector lacks is a root.
func (c *Collector) Tree() string {
	spans, _ := c.Spans()
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.Name, b.Name) })
	known := map[string]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	var out strings.Builder
	var write func(parent, trace string, depth int)
	write = func(parent, trace string, depth int) {
		for _, s := range spans {
			isRoot := !known[s.Parent]
			if parent == "" && !isRoot || parent != "" && (s.Parent != parent || s.Trace != trace) {
				continue
			}
			out.WriteString(strings.Repeat("  ", depth) + s.Name + "\n")
			write(s.ID, s.Trace, depth+1)
		}
	}
	write("", "", 0)
	return out.String()
}

func (c *Collector) take(r *http.Request, body []byte) error {
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("%s with %q", r.Method, r.Header.Get("Content-Type"))
	}
	switch r.URL.Path {
	case "/v1/traces":
		return c.takeSpans(body)
	case "/v1/metrics":
		return c.takeMetrics(body)
	}
	return errors.New("unknown path")
}

type keyValue struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type resource struct {
	Attributes []keyValue `json:"attributes"`
}

func (c *Collector) takeSpans(body []byte) error {
	var in struct {
		ResourceSpans []struct {
			Resource   resource `json:"resource"`
			ScopeSpans []struct {
				Scope struct {
					Name string `json:"name"`
				} `json:"scope"`
				Spans []struct {
					TraceID    string     `json:"traceId"`
					SpanID     string     `json:"spanId"`
					State      string     `json:"traceState"`
					ParentID   string     `json:"parentSpanId"`
					Flags      uint32     `json:"flags"`
					Name       string     `json:"name"`
					Kind       int        `json:"kind"`
					Start      string     `json:"startTimeUnixNano"`
					End        string     `json:"endTimeUnixNano"`
					Attributes []keyValue `json:"attributes"`
					Status     struct {
						Code    int    `json:"code"`
						Message string `json:"message"`
					} `json:"status"`
				} `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	for _, from := range in.ResourceSpans {
		if err := c.takeResource(from.Resource); err != nil {
			return err
		}
		for _, list := range from.ScopeSpans {
			for _, s := range list.Spans {
				start, startErr := strconv.ParseUint(s.Start, 10, 64)
				end, endErr := strconv.ParseUint(s.End, 10, 64)
				attributes, err := readAttributes(s.Attributes)
				if err := cmp.Or(startErr, endErr, err, checkID(s.TraceID, 16), checkID(s.SpanID, 8)); err != nil {
					return err
				}
				if s.ParentID != "" && checkID(s.ParentID, 8) != nil || start == 0 || end < start || s.Kind < 1 || s.Kind > 5 ||
					s.Name == "" || s.Status.Code < 0 || s.Status.Code > 2 {
					return fmt.Errorf("the span %+v", s)
				}
				c.spans = append(c.spans, Span{
					s.TraceID, s.SpanID, s.ParentID, s.Name, s.Status.Message, s.Kind, attributes,
				})
			}
		}
	}
	return nil
}

func (c *Collector) takeResource(r resource) (err error) {
	c.resource, err = readAttributes(r.Attributes)
	if err == nil && c.resource["service.name"] == nil {
		err = errors.New("no service.name")
	}
	return err
}

// The messages of metrics.
type (
	metricsData struct {
		ResourceMetrics []struct {
			Resource     resource `json:"resource"`
			ScopeMetrics []struct {
				Scope struct {
					Name string `json:"name"`
				} `json:"scope"`
				Metrics []metric `json:"metrics"`
			} `json:"scopeMetrics"`
		} `json:"resourceMetrics"`
	}
	metric struct {
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Unit        string  `json:"unit"`
		Sum         *points `json:"sum"`
		Gauge       *points `json:"gauge"`
		Histogram   *points `json:"histogram"`
	}
	points struct {
		Points      []point `json:"dataPoints"`
		Temporality int     `json:"aggregationTemporality"`
		IsMonotonic bool    `json:"isMonotonic"`
	}
	point struct {
		Attributes []keyValue `json:"attributes"`
		Start      string     `json:"startTimeUnixNano"`
		Time       string     `json:"timeUnixNano"`
		Value      float64    `json:"asDouble"`
		Count      string     `json:"count"`
		Sum        float64    `json:"sum"`
		Buckets    []string   `json:"bucketCounts"`
		Bounds     []float64  `json:"explicitBounds"`
	}
)

func (c *Collector) takeMetrics(body []byte) error {
	var in metricsData
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if c.metrics == nil {
		c.metrics = map[string]Metric{}
	}
	for _, from := range in.ResourceMetrics {
		if err := c.takeResource(from.Resource); err != nil {
			return err
		}
		for _, list := range from.ScopeMetrics {
			for _, m := range list.Metrics {
				read, err := m.read()
				if err != nil {
					return fmt.Errorf("the metric %s: %w", m.Name, err)
				}
				c.metrics[m.Name] = read
			}
		}
	}
	return nil
}

func (m metric) read() (Metric, error) {
	out := Metric{"gauge", m.Unit, map[string]float64{}, map[string]uint64{}}
	data := m.Gauge
	switch {
	case m.Sum != nil:
		out.Kind, data = "sum", m.Sum
	case m.Histogram != nil:
		out.Kind, data = "histogram", m.Histogram
	}
	if data == nil || out.Kind != "gauge" && data.Temporality != 2 || data.IsMonotonic != (out.Kind == "sum") {
		return out, fmt.Errorf("it is %+v", m)
	}
	for _, p := range data.Points {
		attributes, err := readAttributes(p.Attributes)
		if err != nil {
			return out, err
		}
		if _, err := strconv.ParseUint(p.Time, 10, 64); err != nil {
			return out, err
		}
		var parts []string
		for key, value := range attributes {
			parts = append(parts, fmt.Sprintf("%s=%v", key, value))
		}
		slices.Sort(parts)
		at := strings.Join(parts, ",")
		out.Values[at] = p.Value
		if out.Kind == "histogram" {
			out.Values[at] = p.Sum
			if out.Counts[at], err = p.count(); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// count returns the count of a point of a histogram, which its buckets must agree with.
func (p point) count() (uint64, error) {
	total := uint64(0)
	for _, text := range p.Buckets {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, err
		}
		total += n
	}
	n, err := strconv.ParseUint(p.Count, 10, 64)
	if err == nil && (n != total || len(p.Buckets) != len(p.Bounds)+1) {
		err = fmt.Errorf("the point is %+v", p)
	}
	return n, err
}

// checkID refuses what is no id of so many bytes in lower-case hex, and an id of zeros.
func checkID(id string, size int) error {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != size || strings.ToLower(id) != id || strings.Trim(id, "0") == "" {
		return fmt.Errorf("%q is no id of %d bytes", id, size)
	}
	return nil
}

func readAttributes(list []keyValue) (map[string]any, error) {
	out := map[string]any{}
	for _, a := range list {
		if a.Key == "" || len(a.Value) != 1 {
			return nil, fmt.Errorf("the attribute %+v", a)
		}
		for kind, v := range a.Value {
			value, err := readValue(kind, v)
			if err != nil {
				return nil, fmt.Errorf("the attribute %s: %w", a.Key, err)
			}
			out[a.Key] = value
		}
	}
	return out, nil
}

func readValue(kind string, v any) (any, error) {
	switch v := v.(type) {
	case string:
		if kind == "intValue" {
			return strconv.ParseInt(v, 10, 64)
		}
		if kind == "stringValue" {
			return v, nil
		}
	case bool:
		if kind == "boolValue" {
			return v, nil
		}
	case float64:
		if kind == "doubleValue" {
			return v, nil
		}
	case map[string]any:
		values, ok := v["values"].([]any)
		if kind != "arrayValue" || !ok {
			break
		}
		out := []any{}
		for _, one := range values {
			for kind, v := range one.(map[string]any) {
				value, err := readValue(kind, v)
				if err != nil {
					return nil, err
				}
				out = append(out, value)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s with %v", kind, v)
}
