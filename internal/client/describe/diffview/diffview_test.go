package diffview_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/describe/diffview"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

const patch = `Index: a.go
===================================================================
--- a.go
+++ a.go
@@ -9,4 +9,5 @@
 func f() {
-	old()
+	new()
+	more()
 }
@@ -30,2 +31,1 @@
 end
-gone
\ No newline at end of file
`

func TestRender(t *testing.T) {
	th, err := style.New("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		patch string
		width int
		want  string
	}{
		"unified": {patch, 18, `
 9   func f() {
10 -     old()
10 +     new()
11 +     more()
12   }
⋯
31   end
31 - gone
No newline at end…`},
		"side by side": {patch, 140, `
 9   func f() {                                                      │  9   func f() {
10 -     old()                                                       │ 10 +     new()
                                                                     │ 11 +     more()
11   }                                                               │ 12   }
⋯
30   end                                                             │ 31   end
31 - gone                                                            │
No newline at end of file`},
		"files": {"--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+1\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-2\n", 20, `
x
1 + 1
y
1 - 2`},
		// lines of the files look like the head of a file: a removed SQL comment, and an added one
		"signs in the files": {
			"--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n--- old\n-a\n+++ new\n b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n--- c\n+d\n", 20, `
x
1 - -- old
2 - a
1 + ++ new
2   b
y
1 - -- c
1 + d`,
		},
		"no patch": {"what is this", 20, ""},
	} {
		lines := diffview.Render(th, c.patch, c.width, false)
		for i, l := range lines {
			if ansi.StringWidth(l) > c.width {
				t.Errorf("%s: the line %q is too long", name, l)
			}
			lines[i] = strings.TrimRight(ansi.Strip(l), " ")
		}
		if got := strings.Join(lines, "\n"); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s: got\n%s\nwant%s", name, got, c.want)
		}
	}
}

// TestFold: long lines are wrapped below their numbers, in one column and in two.
func TestFold(t *testing.T) {
	th, err := style.New("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	long := "--- a\n+++ a\n@@ -9 +9 @@\n-" + strings.Repeat("o", 100) + "\n+" + strings.Repeat("n", 70) + "\n"
	unified := ansi.Strip(strings.Join(diffview.Render(th, long, 60, true), "\n"))
	want := "9 - " + strings.Repeat("o", 56) + "\n  " + strings.Repeat("o", 44) +
		"\n9 + " + strings.Repeat("n", 56) + "\n  " + strings.Repeat("n", 14)
	if unified != want {
		t.Errorf("got\n%s\nwant\n%s", unified, want)
	}
	sides := diffview.Render(th, long, 143, true)
	if len(sides) != 2 || ansi.StringWidth(sides[1]) != 73+6 || strings.Count(strings.Join(sides, ""), "o") != 100 {
		t.Errorf("%d lines: %q", len(sides), sides)
	}
}
