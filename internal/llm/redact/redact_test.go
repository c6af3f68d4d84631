package redact_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

func TestMaskValues(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		secrets  []string
		want     string
	}{
		{"none", "text", nil, "text"},
		{"every time", "a hunter2 and a hunter2", []string{"hunter2"}, "a [redacted] and a [redacted]"},
		{"one part of another", "hunter2-hunter2", []string{"hunter2", "hunter2-hunter2"}, "[redacted]"},
		{"too short to be one", "a cat is a cat", []string{"cat", ""}, "a cat is a cat"},
		{"what is not text", "\xff hunter2", []string{"hunter2"}, "\xff [redacted]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(redact.MaskValues([]byte(tt.in), tt.secrets)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a credential", `{"api_key": "a", "x": "b"}`, `{"api_key": "[redacted]", "x": "b"}`},
		{
			"tokens and secrets of anything", `{"projectToken":"a","api-token":"b","webhook_secret":"c","passphrase":"d"}`,
			`{"projectToken":"[redacted]","api-token":"[redacted]","webhook_secret":"[redacted]","passphrase":"[redacted]"}`,
		},
		{
			"tokens that open nothing", `{"eos_token":"a","nextPageToken":"b","stop_token":"c","tokens":"d","tokenizer":"e"}`,
			`{"eos_token":"a","nextPageToken":"b","stop_token":"c","tokens":"d","tokenizer":"e"}`,
		},
		{"every spelling", `{"apiKey":"a","API-KEY":"b"}`, `{"apiKey":"[redacted]","API-KEY":"[redacted]"}`},
		{"counts and signatures", `{"max_tokens":1,"signature":"s"}`, `{"max_tokens":1,"signature":"s"}`},
		{
			"inside a string", `{"note":"{\"password\":\"p\",\"ok\":\"k\"}"}`,
			`{"note":"{\"password\":\"[redacted]\",\"ok\":\"k\"}"}`,
		},
		{"with escapes inside", `{"token":"a\nb\"c\\","x":"y"}`, `{"token":"[redacted]","x":"y"}`},
		{
			"with escapes inside, inside a string", `{"note":"{\"token\":\"a\\nb\",\"x\":\"y\"}"}`,
			`{"note":"{\"token\":\"[redacted]\",\"x\":\"y\"}"}`,
		},
		{"cut off", `{"secret":"abc`, `{"secret":"[redacted]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(redact.MaskMembers([]byte(tt.in), redact.IsCredentialName)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"in a sentence", "bad key sk-other-1234567890.", "bad key [redacted]"},
		{"two", "ghp_0123456789abcdef,xai-0123456789abcdef", "[redacted],[redacted]"},
		{"a token of cairn", "use cairn_1f0c8a2e_0123456789abcdef here", "use [redacted] here"},
		{"a name of cairn", "cairn_something_long_enough", "cairn_something_long_enough"},
		{"a bearer token", `"Bearer abcdefgh123"`, `"[redacted]"`},
		{
			"behind an escaped line break", `{"message":"wrong key:\nsk-other-1234567890"}`,
			`{"message":"wrong key:\n[redacted]"}`,
		},
		{"in the middle of a word", "task-with-a-very-long-name", "task-with-a-very-long-name"},
		{"too short", "sk-learn", "sk-learn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(redact.MaskKeys([]byte(tt.in), 8)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestHeld(t *testing.T) {
	for in, want := range map[string][]string{
		`{"type":"mcp","authorization":"a","headers":{"X-Api-Key":"b","Accept":"c"},` +
			`"list":["password",{"access_token":"d"}]}`: {"a", "b", "d"},
		`{"password":5,"password":"twice","max_tokens":"no"}`: {"twice"},
		`{"password":"before","broken`:                        {"before"}, `"password"`: nil, ``: nil, `nonsense`: nil,
	} {
		if got := redact.FindSecrets(jsontext.Value(in), redact.IsCredentialName); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
