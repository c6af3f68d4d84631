package markdown_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/markdown"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

func newTheme(tb testing.TB) style.Theme {
	tb.Helper()
	th, err := style.New("", func(string) string { return "" })
	if err != nil {
		tb.Fatal(err)
	}
	return th
}

func TestRender(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"paragraph":   {"one two three four", "one two three\nfour"},
		"heading":     {"## Title ##\ntext", "Title\ntext"},
		"list":        {"- a long item here\n  1. two", "• a long item\n  here\n  1. two"},
		"tasks":       {"- [ ] open\n- [x] done", "☐ open\n☑ done"},
		"quote":       {"> so it is said here", "│ so it is said\n│ here"},
		"emphasis":    {"a **b** *c* `d` ~~e~~", "a b c d e"},
		"no emphasis": {"snake_case 2 * 3 * 4", "snake_case 2 *\n3 * 4"},
		"nested":      {"**a *b* c**", "a b c"},
		"unclosed":    {"**a `b [c](", "**a `b [c]("},
		"escapes":     {`\*a\*`, "*a*"},
		"link":        {"[go](x)", "go (x)"},
		"code":        {"```go\nx := \"*a*\" // *b*\n```\nafter", "  x := \"*a*\" //\n   *b*\nafter"},
		"open code":   {"```\na\n\nb", "  a\n\n  b"},
		"rule":        {"a\n\n---", "a\n\n───────────────"},
		"table":       {"| a | bb |\n|---|:--:|\n| ccc | d |", "a   │ bb\n────┼───\nccc │ d"},
		"wide table": {
			"| a | b |\n|---|---|\n| one | two three four |\n| x | y |",
			"a   │ b\n────┼──────────\none │ two three\n    │ four\nx   │ y",
		},
		"bar in cell": {"| a\\|b | c\\\n| d | e |", "a|b │ c\\\nd   │ e"},
		"wide":        {"漢字漢字漢字漢字漢字", "漢字漢字漢字漢\n字漢字"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := markdown.Render(newTheme(t), c.text, 15)
			for i := range lines {
				lines[i] = strings.TrimRight(ansi.Strip(lines[i]), " ")
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestStyles checks that code, emphasis and links have a style, and that nothing is styled beyond its end.
func TestStyles(t *testing.T) {
	th := newTheme(t)
	for text, want := range map[string]string{
		"a **b** c":                 "a " + th.Text.Bold(true).Render("b") + " c",
		"[a](b)":                    th.Accent.Render("a") + th.Muted.Render(" (b)"),
		"```go\nfunc f() // x\n```": "  " + th.Accent.Render("func") + " f() " + th.Muted.Render("// x"),
		"```diff\n+a\n```":          "  " + th.Added.Render("+a"),
		"```go\n/* a\nb */ return\n```": "  " + th.Muted.Render("/* a") + "\n  " + th.Muted.Render("b */") + " " +
			th.Accent.Render("return"),
	} {
		if got := strings.Join(markdown.Render(th, text, 40), "\n"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// FuzzRender: lines fit the width, and a text that arrives line by line, and is rendered in between, is rendered as the
// whole text is.
func FuzzRender(f *testing.F) {
	for _, text := range []string{
		"# a\n\n```go\nx\n\ny\n```\n\nb", "|a|b|\n|-|-|\n\n- c **d\n\n~~~\n```\n\n~~~\n\ne", "> 漢 *a*\n\n1) b",
	} {
		f.Add(text, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 4 || width > 200 || len(text) > 10_000 || strings.ContainsFunc(text, isControl) {
			t.Skip()
		}
		th := newTheme(t)
		whole := markdown.Render(th, text, width)
		for _, l := range whole {
			if n := ansi.StringWidth(l); n > width {
				t.Errorf("a line of %d cells, more than %d: %q", n, width, l)
			}
		}
		stream := markdown.NewLiveText(th, width)
		for line := range strings.Lines(text) {
			stream.Render(line[:len(line)/2])
			if strings.HasSuffix(line, "\n") {
				stream.AddLines(line)
				line = ""
			}
			if got := stream.Render(line); line != "" && !slices.Equal(got, whole) {
				t.Errorf("line by line:\n%q\nwhole:\n%q", got, whole)
			}
		}
		if got := stream.Render(""); strings.HasSuffix(text, "\n") && !slices.Equal(got, whole) {
			t.Errorf("line by line:\n%q\nwhole:\n%q", got, whole)
		}
	})
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\ufffd'
}

// TestTakeLines: the lines that are taken while a text arrives are those of the whole text.
func TestTakeLines(t *testing.T) {
	th, err := style.New("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	const text = "# A\n\nsome *text*\n\n| a | b |\n|---|---|\n| 1 | 2 |\nafter\n```go\nfunc f() {}\n```\nlast | line"
	s := markdown.NewLiveText(th, 40)
	var got []string
	rest := ""
	for _, r := range text {
		rest += string(r)
		if r == '\n' {
			s.AddLines(rest)
			got, rest = append(got, s.TakeLines()...), ""
		}
	}
	got = append(got, s.TakeRest(rest)...)
	if want := markdown.Render(th, text, 40); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
