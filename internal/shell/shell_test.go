package shell_test

import (
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
		{"env A=1 rm x", "env A=1 rm x: A=1 rm x (A=1 rm *)"},
		{"sudo rm x", "sudo rm x: sudo rm x (sudo rm x) + rm x (rm *)"},
		{"timeout 5 npm test", "timeout 5 npm test: npm test (npm test *)"},
		{"xargs rm", "xargs rm: rm □ (rm *)"},
		{"sh -c 'rm x; ls'", "sh -c 'rm x; ls': rm x (rm *) + ls (ls *)"},
		{"find . -exec rm {} + -delete", "find . -exec rm {} + -delete: find . -exec rm {} + -delete (find *) + rm □ (rm *)"},
		{"python3 -c 'x y'", "python3 -c 'x y': python3 -c 'x y' (python3 -c 'x y')"},
		{"python3 a.py b", "python3 a.py b: python3 a.py b (python3 a.py *)"},
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
		for _, c := range shell.Parse(c.text).Commands {
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
		{"cat a /etc/p*d", paths{{"a", shell.Read, true}, {"/etc/", shell.Read, false}}, nil},
		{"ls > out 2>&1 < in", paths{{"out", shell.Write, true}, {"in", shell.Read, true}}, nil},
		{"rm $HOME/x", paths{{"~/x", shell.File, true}}, nil},
		{`rm "$HOME"/x`, paths{{"~/x", shell.File, true}}, nil},
		{"cd a; cd /b; ls", nil, []string{"a", "/b"}},
		{"cd", nil, []string{"~"}},
		{"git -C /a status", paths{{"/a", shell.Named, true}}, []string{"/a"}},
		{"env -C /a ls", paths{{"/a", shell.Named, true}}, []string{"/a"}},
		{"x --file=/a -I/b c=/d @/e f", paths{
			{"/a", shell.Named, true}, {"/b", shell.Named, true}, {"c=/d", shell.Named, true}, {"/d", shell.Named, true}, {"/e", shell.Named, true},
		}, nil},
		{"echo a | tee b", paths{{"b", shell.Write, true}}, nil},
		{"/bin/ls a", paths{{"a", shell.File, true}}, nil},
		{"timeout 5 /bin/ls", nil, nil},
		{"sh -c 'cat /a'", paths{{"/a", shell.Read, true}}, nil},
		{"ls >> $X", nil, nil},
		{"echo @/e", paths{{"@/e", shell.Named, true}, {"/e", shell.Named, true}}, nil},
	} {
		s := shell.Parse(c.text)
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
		strings.Repeat("env ", 1<<14) + "ls", strings.Repeat("sudo ", 1<<14) + "ls", strings.Repeat("find . -exec ", 1<<10) + "ls",
		strings.Repeat("ls;", 1<<16), strings.Repeat("ls;", 1<<10), strings.Repeat("eval ", 5000) + "ls", "a\x00b",
		strings.Repeat("$(", 3000), strings.Repeat("ls $(", 250) + strings.Repeat(")", 250), strings.Repeat("$((", 500) + "1" + strings.Repeat("))", 500), strings.Repeat("(", 3000) + "ls" + strings.Repeat(")", 3000),
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
		"git status && rm x", "env -S 'a b' c", "xargs -I{} sh -c '{}'", "find . -exec a {} \\; -delete", "cat <<E\n$(a)\nE", "a > $X 2>&1",
		"sed 's/a/b/e' f", "awk '{print}'", "git -c a=b x", "f() { a; }; f", "for i in 1; do a $i; done", "[[ $x -eq 1 ]]", "a[$(b)]=1", "trap 'a' EXIT",
		"case a in b) c;; esac", "$'\\x72m' {a,b} ~/c", "coproc a { b; }", "sudo -u x -- y", "timeout -k 1 2 a", "export A=b", "sh -c -- 'a'", "echo \"${x@P}\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range shell.Parse(text).Commands {
			if len(c.Parts) == 0 {
				t.Fatalf("%q has a command without parts: %q", text, c.Source)
			}
			again := map[string]bool{}
			for _, p := range shell.Parts(c.Source) {
				again[p.Text] = true
			}
			for _, p := range c.Parts {
				if !again[p.Text] && !again[shell.Hole] {
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
