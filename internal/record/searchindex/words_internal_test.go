package searchindex

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"Hello, world!":       "Hello world",
		"foo_bar":             "foo bar",
		"fooBar":              "foo Bar fooBar",
		"HTTPServer.parseURL": "HTTP Server parse URL HTTPServer parseURL",
		"a/b.go:12":           "a b go 12",
		"v2beta1 utf8 x86":    "v2 beta 1 utf 8 x86",
		"iPhone15 getURL2":    "i Phone 15 get URL 2 iPhone 15 getURL 2",
		"ab12cdEf":            "ab 12 cd Ef ab 12 cdEf",
		"東京タワー":               "東 京 タ ワ ー",
		"fix 日本語text now":     "fix 日 本 語 text now",
		"naïve cafe\u0301":    "naive cafe",
		"zero\u200bwidth soft\u00adhyphen \u2060x": "zerowidth softhyphen x",
		"ёжик ἄνθρωπος مُحَمَّد שָׁלוֹם":           "ежик ανθρωπος محمد שלום",
		"ﾃﾞｰﾀ データ ﬁle ＡＢＣ":                         "デ ー タ デ ー タ file ABC",
		"한국":                                       "한 국",
		"नमस्ते":                                   "नमस्ते",
		"กำลัง":                                    "ก ำ ลั ง",
		"x\xffy":                                   "x y",
		"--- \x1b[31mred\x1b[0m":                   "31 mred 0m",
		strings.Repeat("a", 100):                   strings.Repeat("a", 64),
		"İx":                                       "Ix",
	} {
		if got := normalize(text); got != want {
			t.Errorf("normalize(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestParseTerms(t *testing.T) {
	for text, want := range map[string]string{
		`foo bar`:                   `words : ("foo" AND "bar")`,
		`fooBar`:                    `words : ("foo Bar")`,
		`a/b.go:12`:                 `words : ("a b go 12")`,
		`"two words" -not`:          `(words : ("two words")) NOT words : ("not")`,
		`comp* "no end`:             `words : ("comp" * AND "no end")`,
		`東京`:                        `words : ("東 京")`,
		`words:x OR (NEAR) ^a + {}`: `words : ("words x" AND "OR" AND "NEAR" AND "a")`,
		"全角\u3000空白":                `words : ("全 角" AND "空 白")`,
		`--flag -x`:                 `(words : ("flag")) NOT words : ("x")`,
		`iphone15 utf8*`:            `words : ("iphone 15" AND "utf 8" *)`,
		"ёж soft\u00adhyphen":       `words : ("еж" AND "softhyphen")`,
		`""`:                        "error",
		`-foo`:                      "error",
		`*** ---`:                   "error",
		strings.Repeat("a ", 33):    "error",
		strings.Repeat("a", 5000):   "error",
	} {
		got := "error"
		if terms, err := parseTerms(text); err == nil {
			got = formatMatch(terms, nil)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	terms, err := parseTerms("a -b")
	if err != nil {
		t.Fatal(err)
	}
	want := `(marks : (m1 AND m2) AND words : ("a")) NOT words : ("b")`
	if got := formatMatch(terms, []string{"m1", "m2"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCutSnippet(t *testing.T) {
	long := strings.Repeat("word ", 200)
	for _, c := range []struct{ text, query, want string }{
		{"The fooBar and the bar.", "bar", "The foo[Bar] and the [bar]."},
		{"The fooBar.", "foobar", "The [fooBar]."},
		{"The fooBar.", "fooBar", "The [foo][Bar]."},
		{"two\n\tlines\x1b[31m", "lines", "two  [lines] [31m"},
		{"nothing here", "absent", "nothing here"},
		{"compile", "comp*", "[compile]"},
		{"an iPhone15 here", "iphone", "an [iPhone]15 here"},
		{"a ёжик", "ежик", "a [ёжик]"},
		{"a cafe\u0301 by", "café", "a [cafe\u0301] by"},
		{"run x --flag now", "--flag", "run x --[flag] now"},
		{"東京タワー", "京タ", "東[京][タ]ワー"},
		{
			long + "needle " + long, "needle",
			"…" + strings.Repeat("word ", 9) + "[needle] " + strings.Repeat("word ", 30)[:148] + "…",
		},
	} {
		terms, err := parseTerms(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := show(cutSnippet(c.text, terms)); got != c.want {
			t.Errorf("%q in %.50q:\n%s, want\n%s", c.query, c.text, got, c.want)
		}
	}
}

// show returns a snippet with its matches in brackets.
func show(s Snippet) string {
	out, last := "", 0
	for _, m := range s.Matches {
		out += s.Text[last:m[0]] + "[" + s.Text[m[0]:m[1]] + "]"
		last = m[1]
	}
	return out + s.Text[last:]
}

// Words, queries and snippets hold for every text.
func FuzzText(f *testing.F) {
	for _, text := range []string{"fooBar a/b.go:12", "東京 x\xff", "\u0301a", `"a -b* c`, "ſK"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		last := 0
		findWords(text, func(w span) bool {
			if w.start < last || w.end <= w.start || w.end > len(text) {
				t.Fatalf("word %d to %d of %q, after %d", w.start, w.end, text, last)
			}
			last = w.end
			return true
		})
		if out := normalize(text); !utf8.ValidString(out) {
			t.Errorf("normalize(%q) is %q", text, out)
		}
		terms, err := parseTerms(query)
		if err != nil {
			return
		}
		s := cutSnippet(text, terms)
		last = 0
		for _, m := range s.Matches {
			if m[0] < last || m[1] < m[0] || m[1] > len(s.Text) {
				t.Fatalf("matches %v in %q", s.Matches, s.Text)
			}
			last = m[1]
		}
		if len(s.Text) > 4*snippetBytes {
			t.Errorf("a snippet of %d bytes", len(s.Text))
		}
	})
}

func TestFindTexts(t *testing.T) {
	got := findTexts([]byte(`{"path": "a.go", "edits": [{"old": "x", "n": 1}], "cut": "off`))
	if diff := cmp.Diff([]string{"a.go", "x"}, got); diff != "" {
		t.Error(diff)
	}
}

// A beginning of a word has two characters, however many bytes they take; one of a script without spaces may have one.
func TestShortBeginnings(t *testing.T) {
	for text, want := range map[string]bool{
		"c*": false, "co*": true, "п*": false, "по*": true, "я*": false, "東*": true, "한*": true, `"a b*"`: true,
	} {
		if _, err := parseTerms(text); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
