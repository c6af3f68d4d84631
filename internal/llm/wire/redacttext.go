package wire

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// minKeyLength is the number of letters after a key prefix that make a key in an error. A false match does no harm
// there.
const minKeyLength = 6

// RedactText returns a provider's text for an error: at most n characters, without the given secrets, members with
// secret names and words that look like keys. It clips last, so that no part of a secret remains.
func RedactText(text []byte, secrets []string, n int) string {
	text = text[:min(len(text), 4*maxBody)]
	text = redact.MaskText(redact.MaskMembers(redact.MaskValues(text, secrets), isSecretName))
	return Clip(string(redact.MaskKeys(text, minKeyLength)), n)
}

// isSecretName reports whether the value of a member of this name must be redacted. Counts such as max_tokens are not
// secret.
func isSecretName(name string) bool {
	return redact.IsCredentialName(name) || strings.Contains(name, "secret") || strings.Contains(name, "signature") ||
		strings.HasSuffix(name, "key") || strings.HasSuffix(name, "token")
}
