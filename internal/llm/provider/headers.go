package provider

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// checkHeaders refuses invalid names and values, and the headers of the connection. The error contains the name, never
// the value.
func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding", "Content-Type", "Te", "Trailer",
			"Upgrade":
			return fmt.Errorf("the header %q is reserved for the connection and cannot be set", name)
		}
		if !isToken(name) {
			return fmt.Errorf("%q is not a header name", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of the header %q contains a control character", name)
		}
	}
	return nil
}

// setAffinityHeaders adds the session to a request, for gateways that keep a conversation together.
func setAffinityHeaders(h http.Header, req *llm.Request) {
	if req.Session != "" {
		h.Set("X-Session-Affinity", req.Session)
		h.Set("X-Session-Id", req.Session)
	}
	if req.Parent != "" {
		h.Set("X-Parent-Session-Id", req.Parent)
	}
}

// betaHeader lists the beta features that a request uses.
const betaHeader = "Anthropic-Beta"

// overlayHeaders sets headers, whatever their case. Beta features are added to those before, unless the value is empty,
// which removes them.
func overlayHeaders(h http.Header, headers map[string]string) {
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == betaHeader && value != "" {
			addBetas(h, strings.Split(value, ","))
			continue
		}
		h.Set(name, value)
	}
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// addBetas adds to the beta features of a request.
func addBetas(h http.Header, betas []string) {
	all := slices.DeleteFunc(strings.Split(h.Get(betaHeader), ","), func(s string) bool { return s == "" })
	for _, beta := range betas {
		if beta = strings.TrimSpace(beta); beta != "" && !slices.Contains(all, beta) {
			all = append(all, beta)
		}
	}
	if len(all) > 0 {
		h.Set(betaHeader, strings.Join(all, ","))
	}
}
