package telemetry

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// PrometheusType is the media type of what WritePrometheus writes.
const PrometheusType = "text/plain; version=0.0.4; charset=utf-8"

// WritePrometheus writes all metrics in the text form of Prometheus.
func (r *Registry) WritePrometheus(to io.Writer) error {
	var text []byte
	for _, m := range r.metrics {
		name, kind := m.prometheusName(), [...]string{"counter", "gauge", "histogram"}[m.kind]
		text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscapes.Replace(m.Help), name, kind)
		for _, s := range m.snapshot() {
			if m.kind != histogram {
				text = fmt.Appendf(text, "%s%s %s\n", name, m.formatLabels(s, ""), formatNumber(s.value))
				continue
			}
			total := uint64(0)
			for i, n := range s.buckets {
				total += n
				bound := "+Inf"
				if i < len(m.Bounds) {
					bound = formatNumber(m.Bounds[i])
				}
				text = fmt.Appendf(text, "%s_bucket%s %d\n", name, m.formatLabels(s, bound), total)
			}
			text = fmt.Appendf(text, "%s_sum%s %s\n%s_count%s %d\n", name, m.formatLabels(s, ""), formatNumber(s.value),
				name, m.formatLabels(s, ""), total)
		}
	}
	_, err := to.Write(text)
	return err
}

// prometheusName returns the name with the suffixes that Prometheus expects.
func (m *Metric) prometheusName() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "USD":
		name += "_usd"
	}
	if m.kind == counter {
		name += "_total"
	}
	return name
}

// formatLabels returns the labels in braces, with the bound of a bucket behind them; "" without any.
func (m *Metric) formatLabels(s series, bound string) string {
	var parts []string
	for i, value := range s.labels {
		if value != "" {
			name := strings.ReplaceAll(m.Labels[i], ".", "_")
			parts = append(parts, name+`="`+valueEscapes.Replace(strings.ToValidUTF8(value, "\uFFFD"))+`"`)
		}
	}
	if bound != "" {
		parts = append(parts, `le="`+bound+`"`)
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
