package transfer

import (
	"strings"
	"testing"
)

// The excerpt of what is replaced shows no secret, also if it is written with marks.
func TestExcerpt(t *testing.T) {
	for _, text := range []string{
		"key own-secret-value", "key **own**-secret-value", `key own\-secret\-value`, "key \x1b[31mown-\x1b[msecret-value", "`own-secret`-value",
	} {
		e := &Export{Known: []string{"own-secret-value"}}
		if out := e.NewFilter().Text("", text); strings.Contains(out, "value") {
			t.Errorf("%q: %q", text, out)
		}
		list := e.ListReplacements()
		if len(list) != 1 || strings.Contains(list[0].Excerpt, "value") || !strings.Contains(list[0].Excerpt, "[redacted]") {
			t.Errorf("%q: %+v", text, list)
		}
	}
}
