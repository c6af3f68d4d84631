package shell_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/shell"
)

// describe writes a line with one command per line: its words as text in |, redirections, and the operator.
func describe(l shell.Line) string {
	var out []string
	for _, c := range l.Commands {
		var words []string
		for _, w := range c.Words {
			words = append(words, strings.ReplaceAll(w.Text, shell.Placeholder, "□"))
		}
		text := strings.Join(words, "|")
		for _, r := range c.Redirections {
			text += " " + r.Operator + r.Target.Text
		}
		if c.Operator != "" {
			text += " " + strings.ReplaceAll(c.Operator, "\n", "⏎")
		}
		out = append(out, text)
	}
	return strings.Join(out, " / ")
}

// A plain line is its commands, with the words that the programs get.
func TestPlainLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"ls", "ls"},
		{"  git  status\t--short ", "git|status|--short"},
		{"a | b && c || d; e\ng", "a | / b && / c || / d ; / e ⏎ / g"},
		{"a;\n\n  b &&\n c |\n d\n", "a ; / b && / c | / d ⏎"},
		{"a;", "a ;"},
		{"# comment's\na # more $(b)\n# end", "a ⏎"},
		{"a b#c", "a|b#c"},
		{`a 'b c' "d e" f\ g '$h'`, "a|b c|d e|f g|$h"},
		{`a 'it''s' "it's" ''`, "a|its|it's|"},
		{`a "\"\\\n"`, `a|"\\n`},
		{"a ./*.go d/* b?c '*' \\*", "a|./□.go|d/□|b□c|*|*"},
		{"a HEAD~1 '~' main@{0} {} stash@{1}", "a|HEAD~1|~|main@{0}|{}|stash@{1}"},
		{"[ -f a ] && b", "[|-f|a|] && / b"},
		{"a > b 2> c >> d < e 2>> f 1> g", "a >b 2>c >>d <e 2>>f >g"},
		{"a>b", "a >b"},
		{"a2>b", "a2 >b"},
		{"a 2>&1 >&2 | b 1>&2", "a | / b"},
		{"a 2>/dev/null", "a 2>/dev/null"},
		{"a \\\n  b \\\n c", "a|b|c"},
		{"a 'für' \"日本 x\"", "a|für|日本 x"},
		{"a 'b\nc'", "a|b\nc"},
		{"a x! !x ! -name", "a|x!|!x|!|-name"},
		{"a --x=y:z,%@+^ ]", "a|--x=y:z,%@+^|]"},
		{"a if then", "a|if|then"},
		{"a \"!b\" '`$(x)'", "a|!b|`$(x)"},
	} {
		line, err := shell.Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, describe(line)); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// What a line may not contain, each with the words that say so and its offset.
func TestOtherLines(t *testing.T) {
	for _, c := range []struct {
		text, what string
		offset     int
	}{
		{"", "no command", 0},
		{" # a", "no command", 0},
		{"ls $(a)", "command substitution", 3},
		{`ls "$(a)"`, "command substitution", 4},
		{"ls $((1))", "arithmetic", 3},
		{"ls `a`", "command substitution with `", 3},
		{"ls \"`a`\"", "command substitution with `", 4},
		{"ls ${a}", "expansion ${", 3},
		{`ls "${x:-'$(a)'}"`, "expansion ${", 4},
		{"ls ${x:-<(a)}", "expansion ${", 3},
		{"ls $'a'", "$ outside of single quotes", 3},
		{"ls $a", "$ outside of single quotes", 3},
		{`ls "a$b"`, "$ outside of single quotes", 5},
		{`ls "a$"`, "$ outside of single quotes", 5},
		{`ls \$a`, "backslash", 3},
		{`ls "\$a"`, "backslash", 4},
		{"ls $", "$ outside of single quotes", 3},
		{"ls $[1]", "$ outside of single quotes", 3},
		{"$\\\n#$(a)", "$ outside of single quotes", 0},
		{": 'x -exec y'; find .$_", "$ outside of single quotes", 21},
		{"find .$IFS-exec a", "$ outside of single quotes", 6},
		{"ls *", "may become an option", 3},
		{"ls *.go", "may become an option", 3},
		{"ls ''*", "may become an option", 5},
		{"git log --out*", "may become an option", 13},
		{"a &", "in the background", 2},
		{"a & b", "in the background", 2},
		{"ls ~", "stands for a home directory", 3},
		{"ls ~/b", "stands for a home directory", 3},
		{"ls <(a)", "process substitution", 3},
		{"ls >(a)", "process substitution", 3},
		{"ls << E\na\nE", "here-document", 3},
		{"ls <<E\n$@E\nls '$(a)'", "here-document", 3},
		{"ls <<< a", "here-document", 3},
		{"ls <> a", "redirection <>", 3},
		{"ls >| a", "redirection >|", 3},
		{"ls <&3", "redirection <&", 3},
		{"ls 3>a", "another file descriptor", 3},
		{"ls 0<a", "another file descriptor", 3},
		{"ls '2'>a", "another file descriptor", 3},
		{"ls 1<a", "redirection 1<", 4},
		{"ls >&a", "redirection >&", 3},
		{"ls >&'$(a)'", "redirection >&", 3},
		{"ls >&2a", "redirection >&", 3},
		{"ls >&-", "redirection >&", 3},
		{"ls &> a", "redirection &>", 3},
		{"ls |& a", "redirection |&", 3},
		{"ls > $a", "$ outside of single quotes", 5},
		{"ls > a*", "a redirection to a pattern", 5},
		{"ls > /dev/tcp/a/1", "something else than a file", 5},
		{"ls >", "without a file name", 3},
		{"> a", "redirection before", 0},
		{"ls {a,b}", "brace", 3},
		{"ls {1..3}", "brace", 3},
		{"{ ls; }", "brace", 0},
		{"{fd}>a ls", "brace", 0},
		{"ls }", "a brace", 3},
		{"(ls)", "parenthesis", 0},
		{"(ls ''#$(a)\n)", "parenthesis", 0},
		{"ls ''#a", "# behind a quotation", 5},
		{"ls \\\n#a", "# behind a quotation", 5},
		{"f() { ls; }", "parenthesis", 1},
		{"ls @(a)", "parenthesis", 4},
		{"ls [ab]", "pattern with [", 3},
		{"! ls", "keyword !", 0},
		{"if ls; then a; fi", "keyword if", 0},
		{"ls; time a", "keyword time", 4},
		{"LC_ALL=C time a", "assignment of LC_ALL", 0},
		{"[[ a ]]", "pattern with [", 0},
		{"export A=b", "keyword export", 0},
		{"A=b ls", "assignment of A", 0},
		{"PATH=. ls", "assignment of PATH", 0},
		{"LC_ALL+=C ls", "assignment of LC_ALL", 0},
		{"LC_ALL=C", "assignment of LC_ALL", 0},
		{"ls;;a", "operator ;;", 2},
		{"ls; ;a", "without a command", 4},
		{";ls", "without a command", 0},
		{"ls &&", "operator without a command", 5},
		{"ls && ; a", "without a command", 6},
		{"ls 'a", "single quote without its end", 3},
		{`ls "a`, "double quote without its end", 3},
		{"ls a\\\nb", "backslash", 4},
		{"ls\\\n a", "backslash", 2},
		{"ls \\", "backslash", 3},
		{"ls \"a\\\nb\"", "backslash", 5},
		{"ls \"\\`a\\`\"", "backslash", 4},
		{"ls \"あ\\\"\"", "backslash", 7},
		{"ls ~root", "stands for a home", 3},
		{"ls ~+", "stands for a home", 3},
		{"ls a=~/b", "stands for a home", 5},
		{"ls a:~/b", "stands for a home", 5},
		{"ls é", "outside of ASCII", 3},
		{"ls '\u202e'", "invisible", 4},
		{"ls\r", "control character", 2},
		{"ls\x00", "control character", 2},
		{"ls \x1b", "control character", 3},
		{"ls '\xff'", "not UTF-8", 0},
		{"-e", "begins with %, - or +", 0},
		{"ls; '+e' a", "begins with %, - or +", 4},
		{"ls '\ufeff'", "invisible", 4},
		{"ls '" + strings.Repeat("a", 70_000) + "'", "too much", 65536},
	} {
		line, err := shell.Parse(c.text)
		u, ok := errors.AsType[*shell.NotPlainError](err)
		if !ok {
			t.Errorf("%q is read: %s", c.text, describe(line))
			continue
		}
		if !strings.Contains(err.Error(), c.what) || u.Offset != c.offset || u.Advice == "" {
			t.Errorf("%q: %v (offset %d), want %q at %d", c.text, err, u.Offset, c.what, c.offset)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		text := `cd internal/access/shell && go test -run 'TestReadable|TestUnreadable' ./... 2>&1 | tail -20`
		if _, err := shell.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// The simple commands of any script are found, also where no line is plain.
func TestFindCommands(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"ls -l", []string{"ls -l"}},
		{`for f in *; do rm -f "$f"; done`, []string{`rm -f "$f"`}},
		{`echo "$(rm 'a b')" & A=1 "g"it push`, []string{`echo "$(rm 'a b')"`, "rm a b", "git push"}},
		{"f() { sudo x; }; if a; then b | c; fi", []string{"sudo x", "a", "b", "c"}},
		{"ls 'a", nil},
		{"ls\x00", nil},
		{strings.Repeat("$(", 30_000), nil},
	} {
		if diff := cmp.Diff(c.want, shell.FindCommands(c.text)); diff != "" {
			t.Errorf("%.40q: %s", c.text, diff)
		}
	}
}
