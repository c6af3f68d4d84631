package cutrune_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/cutrune"
)

// TestSuffixLen: a character that is cut anywhere is found, and nothing else is.
func TestSuffixLen(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 0, "ä": 0, "a\xc3": 1, "€": 0, "\xe2": 1, "a\xe2\x82": 2,
		"😀": 0, "\xf0": 1, "\xf0\x9f": 2, "a\xf0\x9f\x98": 3,
		"\x80": 0, "\x80\x80\x80\x80": 0, "a\xff": 0, "\xc3a": 0, "\xe2a\x82": 0,
	} {
		if got := cutrune.SuffixLen(text); got != want || cutrune.SuffixLen([]byte(text)) != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
