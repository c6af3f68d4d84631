package config

import (
	"errors"
	"net/netip"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Notify is a command or a webhook that is told of asks, and of the ends and failures of work.
type Notify struct {
	Command CommandLine       `json:"command" doc:"shell command, or a program and its arguments; it gets a JSON object on its standard input"`
	Webhook string            `json:"webhook" doc:"https address that gets the JSON object in a POST request"`
	Headers map[string]string `json:"headers" doc:"of the requests to the webhook; secrets as {env:NAME} or {file:path}"`
	On      []string          `json:"on" doc:"ask, end and failure; without it all of them"`
	Timeout Seconds           `json:"timeout,omitzero" doc:"seconds of the command, or of one request; default: 10"`
	Enabled *bool             `json:"enabled"`
}

// IsEnabled reports whether it is told.
func (n Notify) IsEnabled() bool { return n.Enabled == nil || *n.Enabled }

// CommandLine is a program and its arguments; a shell runs one that is written as a text.
type CommandLine []string

// UnmarshalJSONFrom reads a text or a list of texts.
func (c *CommandLine) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		text, err := readText(dec)
		*c = CommandLine{"sh", "-c", text}
		return err
	}
	return json.UnmarshalDecode(dec, (*[]string)(c))
}

// UnmarshalJSONFrom reads an object that has a command, or a webhook with an address that keeps its content secret.
func (n *Notify) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Notify
	var p plain
	if err := json.UnmarshalDecode(dec, &p); err != nil {
		return err
	}
	isOff := !Notify(p).IsEnabled()
	hasCommand := len(p.Command) > 0 && p.Command[len(p.Command)-1] != ""
	if hasCommand == (p.Webhook != "") && !isOff {
		return errors.New(`want an object with either a "command" or a "webhook"`)
	}
	if p.Webhook != "" && !isConfidential(p.Webhook) {
		return errors.New(`want a "webhook" that begins with https://; http:// is for this machine only`)
	}
	*n = Notify(p)
	return nil
}

// isConfidential reports whether what is sent to the address is encrypted, or stays on this machine.
func isConfidential(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	isLocal := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && isLocal
}

// Telemetry says where traces and metrics of cairn's work go. Without an endpoint none are sent.
type Telemetry struct {
	Enabled    *bool             `json:"enabled" doc:"false sends nothing, whatever the environment says"`
	Endpoint   string            `json:"endpoint" doc:"collector of OpenTelemetry for OTLP over HTTP, such as http://localhost:4318; default: OTEL_EXPORTER_OTLP_ENDPOINT"`
	Headers    map[string]string `json:"headers" doc:"of the requests to the endpoint; secrets as {env:NAME} or {file:path}"`
	Content    bool              `json:"content" doc:"spans have the text of answers, and the input and output of tools"`
	Prometheus bool              `json:"prometheus" doc:"cairn serve answers GET /metrics in the text form of Prometheus"`
}
