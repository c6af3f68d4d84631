// Package redact takes credentials out of text before it is shown, logged or kept: those that are known, the members
// of JSON objects whose names tell of secrets, and words that look like a key, whoever it belongs to. Providers name a
// refused key in their errors, and people paste theirs.
//
// What it returns is never less safe to show than what it was given; that it misses no secret, nobody can promise.
package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minValue keeps a short value from blanking half of a text.
const minValue = 6

// Values takes out the secrets, the longest first: one may be part of another.
func Values(text []byte, secrets []string) []byte {
	bySize := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	for _, secret := range bySize {
		if len(secret) >= minValue {
			text = bytes.ReplaceAll(text, []byte(secret), []byte(Mark))
		}
	}
	return text
}

// members find string members of JSON objects, complete or cut off: of JSON inside a JSON string, where an escaped
// quote ends the value, and of plain JSON, where it does not.
var members = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(\\")([^"\\]{1,64})(\\"\s*:\s*\\")(?:[^"\\]|\\[^"])*`),
		regexp.MustCompile(`(?s)(")([^"\\]{1,64})("\s*:\s*")(?:[^"\\]|\\.)*`),
	}
})

// Members takes out the string members of JSON objects whose folded names tell of secrets. text may be any text with
// JSON in it.
func Members(text []byte, tells func(name string) bool) []byte {
	for _, member := range members() {
		text = member.ReplaceAllFunc(text, func(whole []byte) []byte {
			m := member.FindSubmatch(whole)
			if !tells(Fold(string(m[2]))) {
				return whole
			}
			return slices.Concat(m[1], m[2], m[3], []byte(Mark))
		})
	}
	return text
}

// Fold makes one of the spellings of a name: apiKey, api_key and API-Key are apikey.
func Fold(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name))
}

// Credential reports whether a header, parameter or member of this folded name holds a credential. The signatures of
// reasoning are none: an answer is of no use without them.
func Credential(name string) bool {
	for _, word := range []string{
		"apikey", "accesskey", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken",
		"securitytoken", "clientsecret", "secretkey", "secretaccesskey", "privatekey", "password", "authorization", "cookie",
		"credential", "passphrase", "passwd", "connectionstring", "accountkey", "encryptionkey", "masterkey", "sharedkey", "signingkey",
		"subscriptionkey",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	if strings.HasSuffix(name, "secret") {
		return true
	}
	kind, token := strings.CutSuffix(name, "token") // of a project, of an account, …
	return token && !slices.Contains(markers, kind)
}

// markers are tokens that name a place in a text or in a list, and open nothing.
var markers = []string{
	"begin", "bos", "cls", "continuation", "cursor", "decoderstart", "end", "endof", "eos", "firstunk", "image", "mask", "max", "min", "next", "nextpage",
	"page", "pad", "per", "sep", "start", "startof", "stop", "unk",
}

// shape finds words that begin as keys do; the prefixes are those of OpenAI and its likes, Groq, xAI, GitHub and
// Google, and what stands before a bearer token. One in the middle of a word, as in "task-", is none, but the n of an
// escaped line break is not part of a word.
var shape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Za-z0-9_.*-]|\\[nrt])(?:sk-|gsk_|xai-|gh[pousr]_|AIza|[Bb]earer )([A-Za-z0-9_.*-]+)`)
})

// Keys takes out the words that look like a key with at least so many letters behind its prefix.
func Keys(text []byte, least int) []byte {
	return shape().ReplaceAllFunc(text, func(whole []byte) []byte {
		m := shape().FindSubmatch(whole)
		if len(m[2]) < least {
			return whole
		}
		return slices.Concat(m[1], []byte(Mark))
	})
}

// Held returns the string members of JSON whose folded names tell of secrets, such as those of a declaration that is sent. What
// is not JSON holds none.
func Held(value jsontext.Value, tells func(name string) bool) (secrets []string) {
	d := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return secrets
		}
		kind, n := d.StackIndex(d.StackDepth())
		if t.Kind() != '"' || kind != '{' || n%2 != 0 {
			continue // no member's value
		}
		if tells(Fold(d.StackPointer().LastToken())) {
			secrets = append(secrets, t.String())
		}
	}
}
