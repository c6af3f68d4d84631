package builtin

import (
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

func TestTexts(t *testing.T) {
	for pattern, want := range map[string]string{
		`needle`: "needle", `(?i)Needle`: "NEEDLE/i", `foo\d+barbaz`: "barbaz", `foo|bar|baz`: "foo bar baz", `(Query|Parser)\w*\(`: "Parser Query", `a|\d`: "", `x?yzz`: "yzz",
		`(?:hello){2,}`: "hello", `(?:hello)*`: "", `^func \w+`: "func ", `[abcde]xyz`: "xyz", `[ab]x[cd]`: "axc axd bxc bxd", `\bTODO\b|\bFIXME\b`: "FIXME TODO", `(foo12|)`: "", `.*`: "",
		`(?i)größe`: "GRÖßE/i", `fu(a|b)+ends`: "ends", `cat(alog)?ue`: "cat", `abc(de|fg)hij`: "abcdehij abcfghij", `(one|two)(three|four)`: "onethree onefour twothree twofour",
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
		if err != nil {
			t.Fatal(err)
		}
		withoutNewlines(tree)
		texts := textsOf(tree)
		got, expect := texts.any, strings.Fields(strings.TrimSuffix(want, "/i"))
		if strings.HasSuffix(want, " ") {
			expect = []string{want}
		}
		slices.Sort(got)
		slices.Sort(expect)
		if !slices.Equal(got, expect) && !(want == "" && texts.shortest() == 0) || texts.fold != strings.HasSuffix(want, "/i") && want != "" {
			t.Errorf("%s: %q %t, want %q", pattern, got, texts.fold, want)
		}
	}
}

// Every match holds one of the texts.
func FuzzTexts(f *testing.F) {
	for _, s := range [][2]string{{`(foo|ba[rz])\w+`, "xbarz"}, {`(?i)k[ab]c`, "\u212aAC"}, {`a(b|c)*d|efg`, "abbd efg"}, {`(?i:ab)cd`, "ABcd"}, {`x{2,3}yz`, "xxyz"}, {`\bTo\b$`, "To\r"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, line string) {
		if len(pattern) > 200 || strings.ContainsRune(line, '\n') {
			return
		}
		q, err := newQuery(pattern, "")
		if err != nil || !q.texts.plain() {
			return
		}
		for _, m := range q.re.FindAllString(line, -1) {
			if !slices.ContainsFunc(q.texts.any, func(text string) bool {
				if q.texts.fold {
					return regexp.MustCompile(`(?i)` + regexp.QuoteMeta(text)).MatchString(m)
				}
				return strings.Contains(m, text)
			}) {
				t.Errorf("%q matches %q, which holds none of %q", pattern, m, q.texts.any)
			}
		}
	})
}

func TestGlobLiteral(t *testing.T) {
	for name, want := range map[string]string{"a/b c": "a/b c", `w!ld [x]{a,b}?*\`: `w\!ld \[x\]\{a,b\}\?\*\\`} {
		if got := globLiteral(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Only whole searches that read enough, and for what we are slower at, have ripgrep asked.
func TestWhereRipgrepPays(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(t.TempDir(), "rg")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(bin))
	for _, tt := range []struct {
		pattern string
		known   known
		from    int64
		want    bool
	}{
		{"foo|bar", known{bytes: ripgrepFrom}, 0, true},
		{"(?i)foo", known{bytes: ripgrepFrom}, 0, true},
		{"(?i)foo", known{bytes: ripgrepFrom, files: ripgrepFrom/ripgrepFile + 1}, 0, false},
		{"foo|bar", known{bytes: ripgrepFrom, files: ripgrepFrom/ripgrepFile + 1}, 0, true},
		{"foo", known{bytes: ripgrepFrom}, 0, false},
		{`\d+`, known{bytes: ripgrepFrom}, 0, false},
		{"foo|bar", known{bytes: ripgrepFrom - 1}, 0, false},
		{"foo|bar", known{bytes: ripgrepFrom, failed: true}, 0, false},
		{"foo|bar", known{bytes: ripgrepFrom, manyShut: true}, 0, false},
		{"foo|bar", known{bytes: ripgrepFrom}, -1, false},
		{"foo", known{bytes: 1}, 1, true},
	} {
		s := &site{config: Config{Directory: dir, RipgrepFrom: tt.from}.orDefault()}
		p, err := s.locate("")
		if err != nil {
			t.Fatal(err)
		}
		tree, err := p.grow()
		if err != nil {
			t.Fatal(err)
		}
		defer tree.close()
		q, err := newQuery(tt.pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		if s.ripgrep(tree, q) != nil {
			t.Error("it is asked although nothing is known")
		}
		s.config.Files.measured(tree.key(q), tt.known)
		if got := s.ripgrep(tree, q) != nil; got != tt.want {
			t.Errorf("%s %+v from %d: asked %t", tt.pattern, tt.known, tt.from, got)
		}
	}
	files := NewFiles()
	files.measured("k", known{took: 100})
	if files.took("k", 150); mustKnow(t, files).failed {
		t.Error("a little longer is too long")
	}
	files.took("k", 151)
	files.measured("k", known{took: 100})
	if !mustKnow(t, files).failed {
		t.Error("it is asked where it takes longer")
	}
}

func mustKnow(t *testing.T, f *Files) known {
	t.Helper()
	k, ok := f.size("k")
	if !ok {
		t.Fatal("nothing is known")
	}
	return k
}
