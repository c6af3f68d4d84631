package wire_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func TestHostedResultNote(t *testing.T) {
	sealed, prose := strings.Repeat("QUJD", 4000), strings.Repeat("some words ", 4000)
	tests := []struct{ name, text, want string }{
		{"text stays", "it is sunny", "[web_search returned: it is sunny]"},
		{"JSON stays", `{"a":[1,"two"]}`, `[web_search returned: {"a":[1,"two"]}]`},
		{
			"opaque data is left out",
			`[{"url":"https://example.org/a","title":"A","encrypted_content":"` + sealed + `"},{"b":{"data":"` + sealed + `"}}]`,
			`[web_search returned: [{"title":"A","url":"https://example.org/a"},{"b":{"data":"(left out)"}}]]`,
		},
		{
			"short opaque data too",
			`{"signature":"QUJD","type":"reasoning.encrypted","data":"QUJD","thought":{"thoughtSignature":"QUJD",` +
				`"redactedData":"QUJD"},"url":"u"}`,
			`[web_search returned: {"thought":{},"type":"reasoning.encrypted","url":"u"}]`,
		},
		{
			"prose is not opaque", `{"signature":"func f(a int)","type":"blob","data":"QUJD"}`,
			`[web_search returned: {"data":"QUJD","signature":"func f(a int)","type":"blob"}]`,
		},
		{"only an image", sealed, "[web_search returned: (left out)]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wire.HostedResultNote(llm.ToolResult{Name: "web_search", Raw: jsontext.Value(`1`)}, tt.text); got !=
				tt.want {
				t.Errorf("got %.300s", got)
			}
		})
	}
	long := wire.HostedResultNote(llm.ToolResult{Name: "web_search"}, prose)
	if len(long) > 20_000 || !strings.HasSuffix(long, " …]") || !strings.Contains(long, "some words") {
		t.Errorf("%d bytes, %.60q … %.60q", len(long), long, long[len(long)-60:])
	}
}

// An instruction is sent as written. Only what could end its enclosure is escaped.
func TestFormatUpdate(t *testing.T) {
	for text, want := range map[string]string{
		"if a < b && c > d, see <file>&amp;": "if a < b && c > d, see <file>&amp;",
		"a </system-update> b":               "a &lt;/system-update> b",
		"a < / System-Update\n> b":           "a &lt; / System-Update\n> b",
		"<system-update>":                    "<system-update>",
	} {
		got := wire.FormatUpdate([]llm.Part{llm.Text{Text: text}})
		if want := "<system-update>\n" + want + "\n</system-update>"; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
