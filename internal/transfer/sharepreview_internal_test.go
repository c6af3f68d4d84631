package transfer

import (
	"encoding/base64"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A secret of the caller is found in what would be uploaded, wherever it is; what is replaced already is no secret of his.
func TestItemSecrets(t *testing.T) {
	attached := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("a my-\"secret\"\n b"))
	for text, want := range map[string]bool{
		`{"output":"plain"}`:                             false,
		`{"password":"[redacted]","n":"sk-[redacted]"}`:  false,
		`{"diff":"+a\n+my-\"secret\"\n"}`:                true,
		`{"input":{"my-\"secret\"":1}}`:                  true,
		`{"files":[{"url":"` + attached + `"}]}`:         true,
		`{"text":"**my-\"sec**ret\""}`:                   true,
		`{"text":"my-\u0022secret\u0022 in one answer"}`: true,
	} {
		if got, err := hasItemSecret(jsontext.Value(text), []string{`my-"secret"`}); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
}
