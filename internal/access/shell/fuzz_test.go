package shell_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cairn-dev/cairn/internal/access/shell"
)

// Parse accepts or refuses any text: what it accepts stands in the text in its order, and reads the same when its words
// are quoted; what it refuses has a reason and an offset in the text.
func FuzzParseLine(f *testing.F) {
	for _, line := range append(listedLines(differencesText), listedLines(everydayText)...) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, err := shell.Parse(text)
		if err != nil {
			var reason *shell.NotPlainError
			if !errors.As(err, &reason) || reason.What == "" || reason.Offset < 0 || reason.Offset > len(text) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if len(line.Commands) == 0 {
			t.Fatalf("%q has no commands", text)
		}
		rest := text
		for _, c := range line.Commands {
			_, after, ok := strings.Cut(rest, c.Text)
			if !ok || len(c.Words) == 0 {
				t.Fatalf("%q: %q is not there", text, c.Text)
			}
			rest = after
		}
		checkRoundTrip(t, line)
	})
}

// FindCommands finds the commands of every plain line, and ends for any text.
func FuzzFindCommands(f *testing.F) {
	for _, line := range append(listedLines(differencesText), listedLines(everydayText)...) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := shell.FindCommands(text)
		line, err := shell.Parse(text)
		if err != nil {
			return
		}
		for _, c := range line.Commands {
			words := make([]string, len(c.Words))
			for i, w := range c.Words {
				words[i] = w.Text
			}
			if !slices.Contains(found, strings.Join(words, " ")) {
				t.Fatalf("%q: %q is not in %q", text, words, found)
			}
		}
	})
}

// checkRoundTrip quotes the literal words of the line and reads the result.
func checkRoundTrip(t *testing.T, line shell.Line) {
	var b strings.Builder
	for _, c := range line.Commands {
		for _, w := range c.Words {
			b.WriteString(quoteWord(w) + " ")
		}
		for _, r := range c.Redirections {
			b.WriteString(r.Operator + " " + quoteWord(r.Target) + " ")
		}
		b.WriteString(c.Operator + " ")
	}
	again, err := shell.Parse(b.String())
	if err != nil {
		t.Fatalf("%q: %v", b.String(), err)
	}
	ignored := cmpopts.IgnoreFields(shell.Word{}, "Source")
	texts := cmpopts.IgnoreFields(shell.Command{}, "Text")
	if diff := cmp.Diff(line, again, ignored, texts, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%q reads otherwise: %s", b.String(), diff)
	}
}

func quoteWord(w shell.Word) string {
	if !w.Literal {
		return w.Source
	}
	return "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
}
