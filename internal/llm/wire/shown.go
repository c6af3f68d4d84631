package wire

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// minKey is how many letters behind a prefix make a key in an error; too many words taken out do no harm there.
const minKey = 6

// Shown returns text of a provider as an error may show it: at most n characters, without the given secrets, the
// members that tell of secrets, and what looks like a key. It is clipped last, so that no part of a secret stays.
func Shown(text []byte, secrets []string, n int) string {
	text = text[:min(len(text), 4*maxBody)]
	text = redact.Members(redact.Values(text, secrets), tellsSecret)
	return Clip(string(redact.Keys(text, minKey)), n)
}

// tellsSecret reports whether a member of this name must not be Shown: credentials, and whatever else may be one.
// Counts such as max_tokens are none.
func tellsSecret(name string) bool {
	return redact.Credential(name) || strings.Contains(name, "secret") || strings.Contains(name, "signature") ||
		strings.HasSuffix(name, "key") || strings.HasSuffix(name, "token")
}
