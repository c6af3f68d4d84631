package provider

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// checkHeaders refuses names and values that do not make a header, and the headers that belong to the connection.
// The error names the header, never its value.
func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding", "Content-Type", "Te", "Trailer", "Upgrade":
			return fmt.Errorf("the header %q belongs to the connection and cannot be set", name)
		}
		if !isToken(name) {
			return fmt.Errorf("%q is not a header name", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of the header %q holds a control character", name)
		}
	}
	return nil
}

// affinityHeaders say to which conversation a request belongs, for gateways that keep one together (spec/v1 §32.1).
func affinityHeaders(h http.Header, req *llm.Request) {
	if req.Session != "" {
		h.Set("X-Session-Affinity", req.Session)
		h.Set("X-Session-Id", req.Session)
	}
	if req.Parent != "" {
		h.Set("X-Parent-Session-Id", req.Parent)
	}
}

// betaHeader names the features that a request uses and that are not settled yet.
const betaHeader = "Anthropic-Beta"

// lay puts headers over those before, whatever their case. Betas stand beside one another, unless there are to be none.
func lay(h http.Header, headers map[string]string) {
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

// addBetas adds to the features that a request names.
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
