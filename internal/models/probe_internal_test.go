package models

import (
	"testing"
)

func TestRedactQuery(t *testing.T) {
	for address, want := range map[string]string{
		"https://m.example/v1":                        "https://m.example/v1",
		"https://m.example/v1?a=1&api_key=canary&b=2": "https://m.example/v1?a=1&api_key=[redacted]&b=2",
	} {
		if got := redactQuery(address); got != want {
			t.Errorf("redactQuery(%q) = %q, want %q", address, got, want)
		}
	}
}
