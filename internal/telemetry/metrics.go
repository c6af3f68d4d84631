package telemetry

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// maxSeries bounds the label sets of one metric. Above it the labels that come from outside become "other".
const maxSeries = 200

// Description says what a metric counts.
type Description struct {
	Name   string // as OpenTelemetry has it, such as gen_ai.client.token.usage
	Unit   string // of UCUM
	Help   string
	Labels []string
	// UnboundedLabels is how many of the first labels have values that come from outside of the program.
	UnboundedLabels int
	Bounds          []float64 // upper bounds of the buckets of a histogram
}

// metricKind says how the values of a metric are to be read.
type metricKind int

const (
	counter metricKind = iota
	gauge
	histogram
)

// Metric is a counter, a gauge or a histogram. Safe for concurrent use. A nil Metric counts nothing.
type Metric struct {
	Description
	kind metricKind
	read func(add func(value float64, labels ...string)) // of a gauge

	mu     sync.Mutex // guards series
	series map[string]*series
}

// series is one label set of a metric.
type series struct {
	labels  []string
	value   float64 // of a counter or a gauge; the sum of a histogram
	count   uint64
	buckets []uint64 // of a histogram; the last one has no upper bound
}

// Registry holds the metrics of a process, in the order in which they were made.
type Registry struct {
	start   time.Time
	metrics []*Metric
}

// NewRegistry returns a registry without metrics. Make all metrics before it is read.
func NewRegistry() *Registry { return &Registry{start: time.Now()} }

// NewCounter makes a counter.
func (r *Registry) NewCounter(d Description) *Metric {
	return r.add(&Metric{Description: d, kind: counter})
}

// NewHistogram makes a histogram.
func (r *Registry) NewHistogram(d Description) *Metric {
	return r.add(&Metric{Description: d, kind: histogram})
}

// NewGauge makes a gauge that is read when the registry is. read calls add for each label set.
func (r *Registry) NewGauge(d Description, read func(add func(value float64, labels ...string))) {
	r.add(&Metric{Description: d, kind: gauge, read: read})
}

func (r *Registry) add(m *Metric) *Metric {
	m.series = map[string]*series{}
	r.metrics = append(r.metrics, m)
	return m
}

// Add adds to a counter, or a value to a histogram. There is one label value for each label; "" leaves it out.
func (m *Metric) Add(value float64, labels ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(labels)
	s.value += value
	s.count++
	if m.kind == histogram {
		i, _ := slices.BinarySearch(m.Bounds, value) // a bucket has its upper bound
		s.buckets[i]++
	}
}

// find returns the series of the labels, or the one of all others if there are too many. mu is held.
func (m *Metric) find(labels []string) *series {
	key := strings.Join(labels, "\x00")
	if s := m.series[key]; s != nil {
		return s
	}
	labels = slices.Clone(labels)
	if len(m.series) >= maxSeries && m.UnboundedLabels > 0 {
		for i := range labels[:m.UnboundedLabels] {
			labels[i] = "other"
		}
		key = strings.Join(labels, "\x00")
		if s := m.series[key]; s != nil {
			return s
		}
	}
	s := &series{labels: labels}
	if m.kind == histogram {
		s.buckets = make([]uint64, len(m.Bounds)+1)
	}
	m.series[key] = s
	return s
}

// snapshot returns copies of the series, sorted by their labels.
func (m *Metric) snapshot() []series {
	if m.read != nil {
		now := map[string]*series{}
		m.read(func(value float64, labels ...string) {
			now[strings.Join(labels, "\x00")] = &series{labels: labels, value: value}
		})
		m.mu.Lock()
		m.series = now
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]series, 0, len(m.series))
	for _, s := range m.series {
		one := *s
		one.buckets = slices.Clone(s.buckets)
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b series) int { return slices.Compare(a.labels, b.labels) })
	return out
}
