package replay

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// keptHeaders are the only headers in a cassette, so that no secret header gets into it.
var keptHeaders = []string{
	"accept", "content-encoding", "content-type", "date", "retry-after", "retry-after-ms",
	"x-request-id", "request-id", "x-amzn-requestid", "x-amz-request-id", "x-goog-request-id", "cf-ray",
}

// keepHeaders returns the headers for a cassette, with names in lower case.
func keepHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		name = strings.ToLower(name)
		if slices.Contains(keptHeaders, name) || strings.HasPrefix(name, "x-ratelimit-") {
			out[name] = strings.Join(values, ", ")
		}
	}
	return out
}

// cleaner removes the secrets of one exchange.
type cleaner struct{ secrets []string }

// newCleaner collects the credentials of the exchange from its headers.
func newCleaner(headers ...http.Header) cleaner {
	var c cleaner
	for _, h := range headers {
		for name, values := range h {
			if !redact.IsCredentialName(redact.FoldName(name)) {
				continue
			}
			for _, v := range values {
				if _, credential, ok := strings.Cut(v, " "); ok { // "Bearer …"
					v = credential
				}
				c.secrets = append(c.secrets, v)
			}
		}
	}
	return c
}

// cleanURL returns u without user, fragment and secret query values.
func (c cleaner) cleanURL(u *url.URL) string {
	out := *u
	out.User, out.Fragment = nil, ""
	query := out.Query()
	for name := range query {
		folded := redact.FoldName(name)
		if redact.IsCredentialName(folded) || folded == "key" || strings.Contains(folded, "signature") {
			query.Set(name, redact.Mark)
		}
	}
	out.RawQuery = query.Encode()
	return string(redact.MaskValues([]byte(out.String()), c.secrets))
}

// minKeyLength is the number of letters after a key prefix that make a key. It is long, because a false match would
// damage the recording.
const minKeyLength = 16

// cleanBody removes secret members, words that look like keys and the credentials of the exchange. In a body that is
// not text it removes only the credentials.
func (c cleaner) cleanBody(b []byte) []byte {
	out := redact.MaskMembers(b, redact.IsCredentialName)
	if utf8.Valid(out) {
		out = redact.MaskKeys(out, minKeyLength)
	}
	return redact.MaskValues(out, c.secrets)
}
