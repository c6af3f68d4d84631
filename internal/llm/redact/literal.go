package redact

import (
	"bytes"
	"slices"
	"strings"
)

// examples are values that stand for a secret in documentation.
var examples = []string{
	"password", "passwd", "pass", "passphrase", "secret", "token", "key", "apikey", "user", "value", "string", "pwd",
	"prompt", "stdin", "required", "optional", "true", "false", "null", "none",
}

// isLiteral reports whether the value of an option is written out: it is no variable, name of a file, further option or
// example.
func isLiteral(value []byte) bool {
	if len(value) < 4 || isPlaceholder(value) || bytes.HasPrefix(value, []byte(Mark)) ||
		strings.IndexByte("- [(@=", value[0]) >= 0 || bytes.Contains(value, []byte("$(")) {
		return false
	}
	folded := FoldName(strings.Trim(string(value), "[]{}.,:"))
	return !strings.HasPrefix(folded, "your") && !slices.Contains(examples, folded)
}
