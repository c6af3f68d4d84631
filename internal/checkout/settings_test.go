package checkout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/checkout"
)

func TestParseSettings(t *testing.T) {
	text := "[core]\n\tbare = false\n\thooksPath = .githooks ; ours\n[include] path = ../a b # c\n" +
		"[IncludeIf \"gitdir:~/x]\\\"y\"]\n\tpath=\"q;\\\"r\"\n#x = y\n[alias.sub]\nlong = a \\\n b\n[a\nb\n=c\n"
	want := []checkout.Setting{
		{"core.bare", "false"},
		{"core.hookspath", ".githooks"},
		{"include.path", "../a b"},
		{"includeif.path", `q;"r`},
		{"alias.long", "a  b"},
	}
	if diff := cmp.Diff(want, checkout.ParseSettings(text)); diff != "" {
		t.Error(diff)
	}
}
