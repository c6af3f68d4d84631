package replay

import (
	"net/http"
	"net/url"
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
			if got := string(c.cleanBody([]byte(test.in))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestURLLosesSecrets(t *testing.T) {
	c := newCleaner(http.Header{"X-Api-Key": {"our-own-key-1"}})
	for in, want := range map[string]string{
		"https://h/a?api_key=hunter2&x=1":      "https://h/a?api_key=%5Bredacted%5D&x=1",
		"https://h/a?key=hunter2":              "https://h/a?key=%5Bredacted%5D",
		"https://h/a?X-Amz-Signature=hunter2":  "https://h/a?X-Amz-Signature=%5Bredacted%5D",
		"https://user:hunter2@h/a#hunter2":     "https://h/a",
		"https://h/our-own-key-1/a?max_tokens": "https://h/[redacted]/a?max_tokens=",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.cleanURL(u); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
