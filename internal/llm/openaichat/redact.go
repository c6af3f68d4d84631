package openaichat

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

const redacted = "[redacted]"

// minSecret keeps a short value from blanking half of a text.
const minSecret = 6

// redactText removes the given secrets, and what looks like a key or a bearer credential.
func redactText(s string, secrets []string) string {
	bySize := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	for _, secret := range bySize {
		if len(secret) >= minSecret {
			s = strings.ReplaceAll(s, secret, redacted)
		}
	}
	for _, prefix := range []string{"sk-", "gsk_", "xai-", "Bearer ", "bearer "} {
		s = redactAfter(s, prefix)
	}
	return s
}

// redactAfter removes the word that follows each prefix, if the word is long enough to be a key. A prefix in the
// middle of a word, as in "task-", is not one.
func redactAfter(s, prefix string) string {
	var out strings.Builder
	for {
		at := strings.Index(s, prefix)
		if at < 0 {
			break
		}
		end := at + len(prefix)
		for end < len(s) && isKeyByte(s[end]) {
			end++
		}
		long := end-at-len(prefix) >= minSecret
		if long && (at == 0 || !isKeyByte(s[at-1])) {
			out.WriteString(s[:at] + redacted)
		} else {
			out.WriteString(s[:end])
		}
		s = s[end:]
	}
	out.WriteString(s)
	return out.String()
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.*", c) >= 0
}

// secretField finds string members of JSON objects, also of JSON inside a JSON string, complete or cut off.
var secretField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\\?")([^"\\]{1,64})(\\?"\s*:\s*\\?")((?:[^"\\]|\\[^"])*)`)
})

// redactBody removes the values of JSON fields whose names tell of secrets, then redacts the text.
func redactBody(body []byte, secrets []string) string {
	body = body[:min(len(body), 4*maxBody)]
	out := secretField().ReplaceAllFunc(body, func(member []byte) []byte {
		m := secretField().FindSubmatch(member)
		if !tellsSecret(string(m[2])) {
			return member
		}
		return slices.Concat(m[1], m[2], m[3], []byte(redacted))
	})
	return redactText(string(out), secrets)
}

// tellsSecret reports whether a field of this name holds something that must not be shown. Counts such as max_tokens
// are no secrets.
func tellsSecret(name string) bool {
	name = plainKey(name)
	for _, word := range []string{"secret", "credential", "signature", "password", "authorization", "cookie"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "key") || strings.HasSuffix(name, "token")
}
