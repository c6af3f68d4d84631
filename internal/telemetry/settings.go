package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Settings say where telemetry goes.
type Settings struct {
	Endpoint      string // the base address of the collector, without a slash at its end; "" sends nothing
	Headers       map[string]string
	Resource      []Attribute // facts about this process
	SkipTraces    bool
	SkipMetrics   bool
	IsUnsupported bool // the environment asks for a protocol other than JSON over HTTP
}

// ReadSettings completes the settings with the usual variables of OpenTelemetry. A configured endpoint gets none of the
// headers of the environment: they are for another one.
func ReadSettings(s Settings, getenv func(string) string) (Settings, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		s.Endpoint = ""
		return s, nil
	}
	if s.Endpoint == "" {
		s.Endpoint = getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
		headers := parseList(getenv("OTEL_EXPORTER_OTLP_HEADERS"))
		for name, value := range s.Headers {
			headers[name] = value
		}
		s.Headers = headers
		protocol := getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
		s.IsUnsupported = s.Endpoint != "" && protocol != "" && protocol != "http/json"
	}
	s.SkipTraces = s.SkipTraces || getenv("OTEL_TRACES_EXPORTER") == "none"
	s.SkipMetrics = s.SkipMetrics || getenv("OTEL_METRICS_EXPORTER") == "none"
	// The name of the service: a variable, an attribute of the resource, or the default.
	listed := parseList(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	name := cmp.Or(getenv("OTEL_SERVICE_NAME"), listed["service.name"], "cairn")
	delete(listed, "service.name")
	s.Resource = append([]Attribute{{"service.name", name}}, s.Resource...)
	for key, value := range listed {
		if len(s.Resource) < maxAttributes {
			s.Resource = append(s.Resource, Attribute{key, value})
		}
	}
	if s.Endpoint == "" {
		return s, nil
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		s.Endpoint = ""
		return s, errors.New("the endpoint for telemetry must look like http://localhost:4318, with headers in the place for them")
	}
	s.Endpoint = strings.TrimRight(s.Endpoint, "/")
	return s, nil
}

// host returns the host of the endpoint, for messages.
func (s Settings) host() string {
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// parseList reads a list of key=value with commas between them; values are percent-encoded. Malformed members are left
// out.
func parseList(text string) map[string]string {
	out := map[string]string{}
	for member := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(member, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); ok && key != "" && err == nil {
			out[key] = value
		}
	}
	return out
}

// describeTransport returns the error of a request without its address, which may have a secret.
func describeTransport(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("no answer: %w", err)
}
