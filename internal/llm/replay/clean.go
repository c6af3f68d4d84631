package replay

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const blank = "[redacted]"

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
type cleaner struct{ secrets [][]byte }

// minSecret keeps a short header value from blanking half of a text.
const minSecret = 8

// newCleaner learns the credentials of the exchange from its headers.
func newCleaner(headers ...http.Header) cleaner {
	var c cleaner
	for _, h := range headers {
		for name, values := range h {
			if !tellsSecret(name) {
				continue
			}
			for _, v := range values {
				if _, credential, ok := strings.Cut(v, " "); ok { // "Bearer …"
					v = credential
				}
				if len(v) >= minSecret {
					c.secrets = append(c.secrets, []byte(v))
				}
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
		if tellsSecret(name) || strings.EqualFold(name, "key") || strings.Contains(strings.ToLower(name), "signature") {
			query.Set(name, blank)
		}
	}
	out.RawQuery = query.Encode()
	return string(c.text([]byte(out.String())))
}

// secretField finds string members of JSON objects, also inside a JSON string.
var secretField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\\?")([^"\\]{1,64})(\\?"\s*:\s*\\?")((?:[^"\\]|\\[^"])*)`)
})

// keyShaped finds words that look like a key, whoever it belongs to: providers name a refused key in their errors,
// and people paste them. The prefixes are those of OpenAI and its likes, Groq, xAI, GitHub and Google.
var keyShaped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Za-z0-9_.*-])(?:sk-|gsk_|xai-|gh[pousr]_|AIza)[A-Za-z0-9_.*-]{16,}`)
})

// body blanks secret fields, what looks like a key and the credentials of the exchange. What is not text is left as
// it is, save for the credentials.
func (c cleaner) body(b []byte) []byte {
	out := secretField().ReplaceAllFunc(b, func(member []byte) []byte {
		m := secretField().FindSubmatch(member)
		if !tellsSecret(string(m[2])) {
			return member
		}
		return slices.Concat(m[1], m[2], m[3], []byte(blank))
	})
	if utf8.Valid(out) {
		out = keyShaped().ReplaceAll(out, []byte("${1}"+blank))
	}
	return c.text(out)
}

func (c cleaner) text(b []byte) []byte {
	for _, s := range c.secrets {
		b = bytes.ReplaceAll(b, s, []byte(blank))
	}
	return b
}

// tellsSecret reports whether a header, parameter or field of this name holds a credential. The signatures of
// reasoning are none: an answer is of no use without them.
func tellsSecret(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	for _, word := range []string{
		"apikey", "accesskey", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken",
		"securitytoken", "clientsecret", "secretkey", "secretaccesskey", "privatekey", "password", "authorization", "cookie",
		"credential",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "token" || name == "secret"
}
