package replay

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// keptHeaders are the headers that a cassette holds; no other header can carry a secret into it.
var keptHeaders = []string{
	"accept", "content-encoding", "content-type", "date", "retry-after", "retry-after-ms",
	"x-request-id", "request-id", "x-amzn-requestid", "x-amz-request-id", "x-goog-request-id", "cf-ray",
}

// kept returns the headers that may be written, in lower case.
func kept(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		name = strings.ToLower(name)
		if slices.Contains(keptHeaders, name) || strings.HasPrefix(name, "x-ratelimit-") {
			out[name] = strings.Join(values, ", ")
		}
	}
	return out
}

// cleaner blanks secrets in one exchange.
type cleaner struct{ secrets []string }

// newCleaner learns the credentials of the exchange from its headers.
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

// url returns u without user, fragment and secret query values.
func (c cleaner) url(u *url.URL) string {
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

// minKey is how many letters behind a prefix make a key. It is long, because a recording is of use only while the rest
// of it stands.
const minKey = 16

// body blanks secret members, what looks like a key and the credentials of the exchange. What is not text is left as
// it is, save for the credentials.
func (c cleaner) body(b []byte) []byte {
	out := redact.MaskMembers(b, redact.IsCredentialName)
	if utf8.Valid(out) {
		out = redact.MaskKeys(out, minKey)
	}
	return redact.MaskValues(out, c.secrets)
}
