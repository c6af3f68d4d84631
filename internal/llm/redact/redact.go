// Package redact removes credentials from text before it is shown, logged or stored: known secrets, members of JSON
// objects with secret names, and words that look like a key. Providers repeat a refused key in their errors, and people
// paste keys.
//
// The result is never less safe to show than the input, but the package cannot guarantee that it finds every secret.
package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// minValue is the minimum length of a secret, so that a short value does not blank half of a text.
const minValue = 6

// MaskValues removes the secrets, longest first, because one may be part of another.
func MaskValues(text []byte, secrets []string) []byte {
	bySize := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	for _, secret := range bySize {
		if len(secret) >= minValue {
			text = bytes.ReplaceAll(text, []byte(secret), []byte(Mark))
		}
	}
	return text
}

// memberPatterns match string members of JSON objects, complete or cut off: of JSON inside a JSON string, where an
// escaped quote ends the value, and of plain JSON, where it does not.
var memberPatterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(\\")([^"\\]{1,64})(\\"\s*:\s*\\")(?:[^"\\]|\\[^"])*`),
		regexp.MustCompile(`(?s)(")([^"\\]{1,64})("\s*:\s*")(?:[^"\\]|\\.)*`),
	}
})

// MaskMembers removes the values of string members of JSON objects whose folded names are secret. text may be any text
// with JSON in it.
func MaskMembers(text []byte, isSecret func(name string) bool) []byte {
	for _, member := range memberPatterns() {
		text = member.ReplaceAllFunc(text, func(whole []byte) []byte {
			m := member.FindSubmatch(whole)
			if !isSecret(FoldName(string(m[2]))) {
				return whole
			}
			return slices.Concat(m[1], m[2], m[3], []byte(Mark))
		})
	}
	return text
}

// FoldName returns one spelling for all spellings of a name: apiKey, api_key and API-Key are apikey.
func FoldName(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name))
}

// IsCredentialName reports whether a header, parameter or member of this folded name holds a credential. The signatures
// of reasoning are not credentials: an answer is useless without them.
func IsCredentialName(name string) bool {
	for _, word := range []string{
		"apikey", "accesskey", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken",
		"securitytoken", "clientsecret", "secretkey", "secretaccesskey", "privatekey", "password", "authorization", "cookie",
		"credential", "passphrase", "passwd", "connectionstring", "accountkey", "encryptionkey", "masterkey", "sharedkey",
		"signingkey", "subscriptionkey", "authkey", "licensekey",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	if strings.HasSuffix(name, "secret") {
		return true
	}
	kind, token := strings.CutSuffix(name, "token") // of a project, of an account, …
	return token && !slices.Contains(harmlessTokens, kind)
}

// harmlessTokens are prefixes of "token" in names of text markers, counts and cursors.
var harmlessTokens = []string{
	"begin", "bos", "cls", "continuation", "cursor", "decoderstart", "end", "endof", "eos", "firstunk", "image", "mask",
	"max", "min", "next", "nextpage", "page", "pad", "per", "sep", "start", "startof", "stop", "unk",
}

// keyShape matches words with the prefix of a key: those of OpenAI and compatible vendors, Groq, xAI, GitHub, Google
// and cairn, and "bearer". A prefix in the middle of a word, as in "task-", does not match, but the n of an escaped
// line break is not part of a word.
var keyShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Za-z0-9_.*-]|\\[nrt])` +
		`(?:sk-|gsk_|xai-|gh[pousr]_|cairn_[0-9a-f]{8}_|AIza|[Bb]earer )([A-Za-z0-9_.*-]+)`)
})

// MaskKeys removes the words that look like a key with at least minLength letters after the prefix.
func MaskKeys(text []byte, minLength int) []byte {
	return keyShape().ReplaceAllFunc(text, func(whole []byte) []byte {
		m := keyShape().FindSubmatch(whole)
		if len(m[2]) < minLength {
			return whole
		}
		return slices.Concat(m[1], []byte(Mark))
	})
}

// FindSecrets returns the string members of JSON whose folded names are secret, for example of a tool declaration. Text
// that is not JSON has none.
func FindSecrets(value jsontext.Value, isSecret func(name string) bool) (secrets []string) {
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return secrets
		}
		kind, n := d.StackIndex(d.StackDepth())
		if t.Kind() != '"' || kind != '{' || n%2 != 0 {
			continue // not the value of a member
		}
		if isSecret(FoldName(d.StackPointer().LastToken())) {
			secrets = append(secrets, t.String())
		}
	}
}
