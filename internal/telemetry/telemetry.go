// Package telemetry measures the work of a process: spans of traces, and counts. It sends both to an OpenTelemetry
// collector, and writes the counts in the text form of Prometheus. It knows nothing of sessions and models.
//
//	trace.go       trace contexts of W3C, spans
//	metrics.go     counters, gauges and histograms with bounded label sets
//	prometheus.go  metrics in the text form of Prometheus
//	otlp.go        spans and metrics in the JSON form of OTLP
//	export.go      a bounded queue, batches, and their way to the collector
//	settings.go    the usual variables of the environment
//
// A nil Tracer, Span or Metric does nothing, so that code can measure without knowing whether measurements are wanted.
package telemetry

// Attribute is a fact about a span or a process. Value is a string, an int64, a float64, a bool or a []string.
type Attribute struct {
	Key   string
	Value any
}
