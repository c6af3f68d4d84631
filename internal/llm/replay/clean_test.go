package replay

import (
	"net/http"
	"testing"
)

func TestBodyLosesSecrets(t *testing.T) {
	c := newCleaner(http.Header{"Authorization": {"Bearer our-own-key-1"}})
	for _, test := range []struct{ name, in, want string }{
		{"the key of the exchange", `you sent our-own-key-1`, `you sent [redacted]`},
		{"a secret field", `{"api_key":"hunter2"}`, `{"api_key":"[redacted]"}`},
		{
			"a key in the words of an error", `{"error":{"message":"bad key sk-other-1234567890abcdef."}}`,
			`{"error":{"message":"bad key [redacted]"}}`,
		},
		{"a key at the start", `sk-other-1234567890abcdef`, `[redacted]`},
		{"two keys", `ghp_0123456789abcdef,xai-0123456789abcdef`, `[redacted],[redacted]`},
		{"the middle of a word", `task-with-a-very-long-name-of-many-parts`, `task-with-a-very-long-name-of-many-parts`},
		{"a short word", `sk-learn`, `sk-learn`},
		{"what is not text", "\xff sk-other-1234567890abcdef", "\xff sk-other-1234567890abcdef"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(c.body([]byte(test.in))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
