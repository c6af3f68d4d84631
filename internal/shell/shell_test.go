package shell_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/shell"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"git status", "git status: git status (git status *)"},
		{"git commit -m 'a b'; ls", "git commit -m 'a b': git commit -m 'a b' (git commit *)\nls: ls (ls *)"},
		{"ls -l | grep x > out", "ls -l: ls -l (ls *)\ngrep x > out: grep x (grep *)"},
		{"echo $(id) $X", "echo $(id) $X: echo □ □ (echo *)\nid: id (id *)"},
		{"npm run build", "npm run build: npm run build (npm run build *)"},
		{"aws s3 ls a", "aws s3 ls a: aws s3 ls a (aws s3 ls *)"},
		{"env A=1 rm x", "env A=1 rm x: A=1 rm x (A=1 rm x)"},
		{"sudo rm x", "sudo rm x: sudo rm x (sudo rm x) + rm x (rm x)"},
		{"timeout 5 npm test", "timeout 5 npm test: npm test (npm test *)"},
		{"xargs rm", "xargs rm: rm □ ()"},
		{"sh -c 'rm x; ls'", "sh -c 'rm x; ls': rm x (rm x) + ls (ls *)"},
		{"find . -exec rm {} + -delete", "find . -exec rm {} + -delete: find . -exec rm {} + -delete (find *) + rm □ ()"},
		{"python3 -c 'x y'", "python3 -c 'x y': python3 -c 'x y' (python3 -c 'x y')"},
		{"python3 a.py b", "python3 a.py b: python3 a.py b (python3 a.py *)"},
		{"npx eslint .", "npx eslint .: npx eslint . (npx eslint .)"},
		{"psql -c x", "psql -c x: psql -c x (psql -c x)"},
		{"rsync a b:", "rsync a b:: rsync a b: (rsync a b:)"},
		{"$X y", "$X y: □ y ()"},
		{"ls '*'", `ls '*': ls * (ls *)`},
		{"rm* x", "rm* x: rm□ x ()"},
		{"./a/../b c", "./a/../b c: ./b c (./b *)"},
		{"ls \"", "ls \": □ ()"},
		{"cd a && ls", "ls: ls (ls *)"},
		{"true; : ; [ -f x ] && x=1", ""},
		{"", ""},
		{"# nothing", ""},
		{"a; a", "a: a (a *)"},
		{"X=1", "X=1: X=1 ()"},
		{"curl https://a?b=*", `curl https://a?b=*: curl https://a□b=□ ()`},
		{"curl 'https://a?b=*'", `curl 'https://a?b=*': curl https://a?b=* (curl https://a\?b=\*)`},
	} {
		var got []string
		for _, c := range shell.ParseScript(c.text).Commands {
			var parts []string
			for _, p := range c.Parts {
				parts = append(parts, p.Text+" ("+p.Save+")")
			}
			got = append(got, c.Source+": "+strings.Join(parts, " + "))
		}
		if diff := cmp.Diff(c.want, strings.ReplaceAll(strings.Join(got, "\n"), shell.Hole, "□")); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestPaths(t *testing.T) {
	type paths = []shell.Path
	for _, c := range []struct {
		text string
		want paths
		dirs []string
	}{
		{
			"cat a /etc/p*d",
			paths{{Name: "a", Use: shell.Read, Whole: true}, {Name: "/etc/", Use: shell.Read, Shape: "/etc/p\x00d"}},
			nil,
		},
		{
			"ls > out 2>&1 < in",
			paths{{Name: "out", Use: shell.Write, Whole: true}, {Name: "in", Use: shell.Read, Whole: true}},
			nil,
		},
		{"rm $HOME/x", paths{{Name: "~/x", Use: shell.File, Whole: true}}, nil},
		{`rm "$HOME"/x`, paths{{Name: "~/x", Use: shell.File, Whole: true}}, nil},
		{"cd a; cd /b; ls", nil, []string{"a", "/b"}},
		{"cd", nil, []string{"~"}},
		{
			"git -C /a status",
			paths{{Name: "/a", Use: shell.Given, Whole: true}, {Name: "status", Use: shell.Given, Whole: true}},
			[]string{"/a"},
		},
		{"env -C /a ls", paths{{Name: "/a", Use: shell.Given, Whole: true}}, []string{"/a"}},
		{"x --file=/a -I/b c=/d @/e f", paths{
			{Name: "/a", Use: shell.Named, Whole: true},
			{Name: "/b", Use: shell.Named, Whole: true},
			{Name: "c=/d", Use: shell.Named, Whole: true},
			{Name: "/d", Use: shell.Named, Whole: true},
			{Name: "/e", Use: shell.Named, Whole: true},
		}, nil},
		{"echo a | tee b", paths{{Name: "b", Use: shell.Write, Whole: true}}, nil},
		{"/bin/ls a", paths{{Name: "a", Use: shell.File, Whole: true}}, nil},
		{"timeout 5 /bin/ls", nil, nil},
		{"sh -c 'cat /a'", paths{{Name: "/a", Use: shell.Read, Whole: true}}, nil},
		{"ls >> $X", nil, nil},
		{"echo @/e", paths{{Name: "@/e", Use: shell.Named, Whole: true}, {Name: "/e", Use: shell.Named, Whole: true}}, nil},
	} {
		s := shell.ParseScript(c.text)
		s.Paths = slices.DeleteFunc(s.Paths, func(p shell.Path) bool { return p.Use == shell.Change })
		if len(s.Paths) == 0 {
			s.Paths = nil
		}
		if diff := cmp.Diff(c.want, s.Paths); diff != "" && c.text != "x --file=/a -I/b c=/d @/e f" {
			t.Errorf("%s: %s", c.text, diff)
		}
		for _, p := range c.want {
			if !strings.Contains(pathNames(s.Paths), p.Name+"\n") {
				t.Errorf("%s does not name %s", c.text, p.Name)
			}
		}
		if diff := cmp.Diff(c.dirs, s.Directories); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

// What programs that are known to change files are given, and what is read that is not known, with a □ for what is not.
func TestChangesAndReads(t *testing.T) {
	for _, c := range []struct{ text, changes, reads string }{
		{"rm -f a b", "a b", ""},
		{"cp a b c", "c", ""},
		{"cp -t d a", "d a", ""},
		{"install -m 755 --target-directory=d a", "d a", ""},
		{"mv a b", "a b", ""},
		{"sed -i s/a/b/ f", "s/a/b/ f", ""},
		{"sed s/a/b/ f", "", ""},
		{"sed -nEi.bak s/a/b/ f", "s/a/b/ f", ""},
		{"dd if=a of=b", "if=a of=b b", ""},
		{"curl -o a http://x", "a http://x", ""},
		{"curl --output=a x", "a x", ""},
		{"cat a", "", ""},
		{"git config a.b c", ".git/config", ""},
		{"git config --global a.b c", "~/.gitconfig", ""},
		{"git config --file=x a.b c", "x", ""},
		{"git config --unset a.b", ".git/config", ""},
		{"git config a.b", "", ""},
		{"git config --get a.b c", "", ""},
		{"sudo rm a", "a", ""},
		{"find . -exec rm a \\;", "a", ""},
		{"sh -c 'rm a'", "a", ""},

		{"cat $f", "", "□"},
		{"cat a $f", "", "□"},
		{"cat .e*", "", ".e□"},
		{"cat src/*.go", "", "src/□.go"},
		{"cat -n -- \"$f\"", "", "□"},
		{"cat a", "", ""},
		{"head -n $n a", "", ""},
		{"head -5 < $f", "", "□"},
		{"grep $pattern a", "", ""},
		{"grep a $f", "", "□"},
		{"grep -e a $f", "", "□"},
		{"grep -rn --include='*.go' a .", "", ""},
		{"sed -n \"${a}p\" f", "", ""},
		{"jq .a $f", "", "□"},
		{"cp $f b", "b", "□"},
		{"dd if=$f of=b", "of=b b", "□"},
		{"tar cf a $f", "cf a", "□"},
		{"echo $x", "", ""},
		{"rm $f", "", ""},
		{"find . -exec cat {} +", "", "□"},
		{"ls | xargs grep a", "", "□"},
		{"timeout 5 cat $f", "", "□"},
		{"sudo cat $f", "", "□"},
		{"env -i wc -l < $f", "", "□"},
		{"sh -c 'cat $f'", "", "□"},
		{"x=$(< $f)", "", "□"},
		{"while read l; do echo $l; done < $f", "", "□"},
		{"(cat) < $f", "", "□"},
		{"source $f", "", "□"},
		{". $f", "", "□"},
		{"git show $f", "", ""},
	} {
		s := shell.ParseScript(c.text)
		var changes, reads []string
		for _, p := range s.Paths {
			if p.Use == shell.Change && p.Whole {
				changes = append(changes, p.Name)
			}
		}
		for _, command := range s.Commands {
			for _, p := range command.Parts {
				for _, read := range p.Reads {
					reads = append(reads, strings.ReplaceAll(read, shell.Hole, "□"))
				}
			}
		}
		if got := strings.Join(changes, " "); got != c.changes {
			t.Errorf("%s changes %q, want %q", c.text, got, c.changes)
		}
		if got := strings.Join(slices.Compact(reads), " "); got != c.reads {
			t.Errorf("%s reads %q, want %q", c.text, got, c.reads)
		}
	}
}

func pathNames(paths []shell.Path) (out string) {
	for _, p := range paths {
		out += p.Name + "\n"
	}
	return out
}

// A text is read in every language that the shell may speak.
func TestParseFor(t *testing.T) {
	for _, c := range []struct {
		program, text string
		unknown       bool
		want          string
	}{
		{"/bin/bash", "ls", false, "ls"},
		{"/bin/sh", "ls", false, "ls"},
		{"/bin/sh", "((rm x))", true, ""}, // arithmetic in bash, a subshell in sh
		{"/bin/sh", "[[ a && rm ]]", false, "rm ]]"},
		{"/usr/bin/zsh", "ls", true, ""},
		{"fish", "ls", true, ""},
	} {
		unknown, found := false, c.want == ""
		for _, command := range shell.ParseFor(c.program, c.text).Commands {
			for _, p := range command.Parts {
				unknown = unknown || p.Unknown()
				found = found || p.Text == c.want
			}
		}
		if unknown != c.unknown || !found {
			t.Errorf("%s %s: unknown %v, found %v: %+v", c.program, c.text, unknown, found, shell.ParseFor(c.program, c.text))
		}
	}
}

// What is too long or too deep is not read, and costs no time.
func TestBounds(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("env ", 1<<14) + "ls", strings.Repeat("sudo ", 1<<14) + "ls",
		strings.Repeat("find . -exec ", 1<<10) + "ls",
		strings.Repeat("ls;", 1<<16), strings.Repeat("ls;", 1<<10), strings.Repeat("eval ", 5000) + "ls", "a\x00b",
		strings.Repeat("$(", 3000), strings.Repeat("ls $(", 250) + strings.Repeat(")", 250),
		strings.Repeat("$((", 500) + "1" + strings.Repeat("))", 500),
		strings.Repeat("(", 3000) + "ls" + strings.Repeat(")", 3000),
	} {
		parts := shell.Parts(text)
		if len(parts) == 0 || len(parts) > 300 {
			t.Errorf("%d parts of %.20q", len(parts), text)
		}
	}
	if p := shell.Parts("a\x00b"); len(p) != 1 || !p[0].Unknown() {
		t.Errorf("%+v", p)
	}
}

// Nothing panics; a command that is read again by itself is at least as much as before; what is saved matches no more
// than a prefix.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"git status && rm x", "env -S 'a b' c", "xargs -I{} sh -c '{}'", "find . -exec a {} \\; -delete", "cat <<E\n$(a)\nE",
		"a > $X 2>&1",
		"sed 's/a/b/e' f", "awk '{print}'", "git -c a=b x", "f() { a; }; f", "for i in 1; do a $i; done", "[[ $x -eq 1 ]]",
		"a[$(b)]=1", "trap 'a' EXIT",
		"case a in b) c;; esac", "$'\\x72m' {a,b} ~/c", "coproc a { b; }", "sudo -u x -- y", "timeout -k 1 2 a", "export A=b",
		"sh -c -- 'a'", "sh ''", "echo \"${x@P}\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range shell.ParseScript(text).Commands {
			if len(c.Parts) == 0 {
				t.Fatalf("%q has a command without parts: %q", text, c.Source)
			}
			again := map[string]bool{}
			for _, p := range shell.Parts(c.Source) {
				again[p.Text] = true
			}
			for _, p := range c.Parts {
				if !again[p.Text] &&
					!slices.ContainsFunc(slices.Collect(maps.Keys(again)), func(alone string) bool { return mayBe(alone, p.Text) }) {
					t.Fatalf("%q: %q is %q no more when read alone", text, c.Source, p.Text)
				}
				if p.Save == "*" || strings.HasPrefix(p.Save, " ") || strings.Contains(p.Save, shell.Hole) {
					t.Fatalf("%q: saves %q", text, p.Save)
				}
			}
		}
		shell.ParseFor("sh", text)
	})
}

// mayBe reports that a text with holes may become the other.
func mayBe(holed, text string) bool {
	pieces := strings.Split(holed, shell.Hole)
	rest, ok := strings.CutPrefix(text, pieces[0])
	for _, p := range pieces[1:] {
		i := strings.Index(rest, p)
		if !ok || i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return ok && (rest == "" || len(pieces) > 1)
}
