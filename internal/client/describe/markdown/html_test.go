package markdown

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRenderHTML(t *testing.T) {
	for text, want := range map[string]string{
		"a <b> & **c** `d<` *e*\nf": "<p>a &lt;b&gt; &amp; <strong>c</strong> <code>d&lt;</code> <em>e</em><br>\nf</p>\n",
		"# H `x`\n---\nend":         "<h1>H <code>x</code></h1>\n<hr>\n<p>end</p>\n",
		"- one\n  - [x] two\nmore\n\n3. three": "<ul><li>one\n<li style=\"margin-left:1em\">☑ two\n<br>more\n</ul>\n" +
			"<ol><li value=\"3\">three\n</ol>\n",
		"```go\n<script>\n# no\n```\nafter": "<pre>&lt;script&gt;\n# no\n</pre>\n<p>after</p>\n",
		"```\nopen":                         "<pre>open\n</pre>\n",
		"| a | b |\n|---|---|\n| *c* | d\\|e |": "<table><tr><th>a</th><th>b</th></tr>\n<tr><td><em>c</em></td><td>d|e</td></tr>\n" +
			"</table>\n",
		"> said <i>\n> more":                            "<blockquote>said &lt;i&gt;<br>\nmore<br>\n</blockquote>\n",
		"[x](https://a.b/\"c) [y](javascript:alert(1))": "<p><a href=\"https://a.b/&#34;c\">x</a> y (javascript:alert(1))</p>\n",
		"": "",
	} {
		if d := cmp.Diff(want, RenderHTML(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}
