package terminal

import (
	"strings"
	"testing"
)

func TestReplaceControls(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":     "plain\ttext\n",
		"\x1b[2Jgone":       "\ufffd[2Jgone",
		"a\r\nb":            "a\nb",
		"# harmless\rrm x":  "# harmless\ufffdrm x",
		"\u009b31mred":      "\ufffd31mred",
		"abc\u202etxt.exe":  "abc\ufffdtxt.exe",
		"日本語 ✓":             "日本語 ✓",
		"bell\x07 nul\x00.": "bell\ufffd nul\ufffd.",
	} {
		if got := ReplaceControls(in); got != want {
			t.Errorf("ReplaceControls(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzReplaceControls(f *testing.F) {
	f.Add("\x1b]0;title\x07", 10)
	f.Add("añ\u2066b\nc", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		for _, r := range ReplaceControls(s) {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				t.Fatalf("%q is left in %q", r, s)
			}
		}
		n = 1 + (n%200+200)%200
		if l := FirstLine(s, n); strings.Contains(l, "\n") || len([]rune(l)) > n+1 {
			t.Fatalf("FirstLine(%q, %d) = %q", s, n, l)
		}
	})
}
