package search

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequired(t *testing.T) {
	for pattern, want := range map[string]string{
		`needle`: "needle", `(?i)Needle`: "needle/i", `foo\d+barbaz`: "barbaz", `a|b`: "", `(abc)+`: "abc", `x?yz`: "yz",
		`x?y`: "", `(?:hello){2,}`: "hello",
		`(?:hello)*`: "", `ab`: "ab", `a`: "", `(?i)größe`: "", `^func \w+`: "func ",
	} {
		q, err := newQuery(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		got := string(q.text)
		if q.fold {
			got += "/i"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// A search finds the lines that a regular expression finds line by line.
func FuzzQuery(f *testing.F) {
	for _, s := range [][2]string{
		{`abc`, "xabc\nABC\n"},
		{`(?i)task`, "TAS\u212a\nta\u017fk\ntask"},
		{`^$`, "\n\na"},
		{`^$`, "0\n"},
		{`\s`, "a\nb c\n"},
		{`[^a]`, "a\nb"},
		{`a*`, "\n"},
		{`\Aabc\z`, "x\nabc"},
		{`(?s).+`, "a\n\nb"},
		{`\bfoo\b`, "foo\nfood\n"},
		{`x$`, "x\r\nx\n"},
	} {
		f.Add(s[0], s[1])
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, pattern, content string) {
		q, err := newQuery(pattern, "")
		if err != nil || strings.ContainsAny(content, "\x00\r") || len(content) > 4096 || strings.Count(content, "\n") > 50 ||
			strings.Contains(strings.TrimPrefix(pattern, "(?i)"), "(?") {
			return
		}
		re, err := regexp.Compile(pattern)
		if err != nil || strings.ContainsAny(pattern, "\n\x00") || strings.Contains(pattern, `\n`) ||
			strings.Contains(pattern, `\x`) || strings.Contains(pattern, `\0`) || strings.Contains(pattern, `\1`) {
			return
		}
		var want []int
		lines := strings.Split(content, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for i, l := range lines {
			if re.MatchString(l) {
				want = append(want, i+1)
			}
		}
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		found, err := q.scanFile(t.Context(), file, scanTarget{rel: "f", size: int64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, m := range found {
			got = append(got, m.line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in %q: %s", pattern, content, diff)
		}
	})
}
