package search_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/fifotest"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// installFakeRipgrep puts a program called rg into PATH that logs its arguments and runs the script. It returns a
// function that returns the logged lines.
func installFakeRipgrep(t *testing.T, b *tooltest.Bench, script string) (asked func() []string) {
	t.Helper()
	bin := b.OutsidePath("bin")
	log := filepath.Join(bin, "asked")
	text := fmt.Sprintf(
		"#!/bin/sh\nprintf '%%s ' \"$@\" >>%[1]s; echo \"[$PWD] $(/usr/bin/env | /bin/grep -cv -e ^PWD= -e ^_= -e "+
			"^SHLVL= -e ^OLDPWD=)\" >>%[1]s\n%[2]s\n", log, script,
	)
	b.WriteFile(filepath.Join(bin, "rg"), text)
	if err := os.Chmod(filepath.Join(bin, "rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	return func() []string {
		t.Helper()
		raw, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		_ = os.Remove(log) // a missing log means no call
		lines := strings.Split(string(raw), "\n")
		return lines[:len(lines)-1]
	}
}

// Results with and without ripgrep are equal byte for byte.
func TestRipgrepChangesNothing(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("rg is not installed")
	}
	compare := func(t *testing.T, b *tooltest.Bench, dirs, patterns, includes []string) (times int) {
		t.Helper()
		asked := installFakeRipgrep(t, b, "exec "+rg+` "$@"`)
		with, without := os.Getenv("PATH"), t.TempDir()
		for _, dir := range dirs {
			for _, include := range includes {
				for _, pattern := range patterns {
					input := tooltest.Input{"pattern": pattern, "path": dir, "include": include}
					t.Setenv("PATH", without)
					want := tooltest.TextOf(b.Call("grep", input))
					t.Setenv("PATH", with)
					got := tooltest.TextOf(b.Call("grep", input))
					if strings.Contains(want, "there are more") && strings.Contains(got, "there are more") {
						continue // which of more than 100 matches are shown is undefined
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%q in %s, %s:\n%s", pattern, dir, include, diff)
					}
				}
			}
		}
		return len(asked())
	}
	patterns := []string{
		`foo12`, `(?i)todo|bar`, `^package \w`, `\bw\d+x\b`, `[A-Z][a-z]+`, `^\s*$`, `st.a.e`, `über`, `(?i)ÜBER`,
		`nothing here`, `x?last`, `(?i)fix me`, `last$`,
		`foo12\b`, `(foo|bar|tod)\w*`, `ba[rz]`, `-foo`, `(?i)-FOO12`, `foo12\r`, `\x{FFFD}`, `foo\x{FEFF}`, `a\nfoo`,
		`\x00foo12`, `(package|last) ?`, `first foo`, `(?:foo12)+`, `K\b|foo12`,
		`foo12$`, `\Afoo12`, `(foo12|)`, `wide-(long|bad)`, `\[foo12\]`, `TODO: (fix|mend) me`, `\.foo12\.`, `(?s)foo.*last`,
		`--pre=foo12`, `line:—`,
	}
	t.Run("wild", func(t *testing.T) {
		b := newWildTree(t)
		b.WriteFile("w!ld [x]{a,b}/.gitignore", "shut*/\n")
		b.WriteFile("w!ld [x]{a,b}/shut?/x.go", "foo12 shut\n")
		b.WriteFile("w!ld [x]{a,b}/open/x.go", "foo12 open --pre=foo12\n-foo12 .foo12. [foo12]\n")
		b.WriteFile("huge.txt", strings.Repeat("y", 3<<20)+" foo12\nfoo12\n")
		b.WriteFile("late.bin", strings.Repeat("y", 9000)+"\x00 foo12\n")
		b.WriteFile("bad\xff/x.txt", "foo12 \xff\xfe todo\n")
		n := compare(t, b, []string{".", "a", "w!ld [x]{a,b}"}, patterns, []string{"", "*.go"})
		if n < 50 {
			t.Errorf("ripgrep was asked %d times only", n)
		}
	})
	t.Run("random", func(t *testing.T) {
		n := 0
		for seed := range uint64(4) {
			b := randomTree(t, rand.New(rand.NewPCG(seed, 7)))
			n += compare(
				t, b, []string{".", "d1/d0"},
				[]string{"needle", "(?i)NEEDLE", "needle|thread", "(hay|pin) needle", "needle$", "^hay"}, []string{"", "*.go"},
			)
		}
		if n < 20 {
			t.Errorf("ripgrep was asked %d times only", n)
		}
	})
}

// randomTree returns a tree of some hundred files with random ignore files, links, encodings and line ends.
func randomTree(t *testing.T, rnd *rand.Rand) *tooltest.Bench {
	b := tooltest.New(t)
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	name := func() string {
		return pick(
			"d0", "d1", "d2", ".h", "x.go", "y.log", "z", "keep.log", "build", "n\u00e4me", "a b", "!odd", "#odd", "t\\b",
		)
	}
	for range 40 {
		dir := ""
		for range rnd.IntN(4) {
			dir = filepath.Join(dir, pick("d0", "d1", "d2", ".h", "build", "!odd", "t\\b"))
		}
		switch rnd.IntN(6) {
		case 0:
			var rules []string
			for range 1 + rnd.IntN(4) {
				rules = append(
					rules,
					pick("", "!", "/", "!/")+pick(
						"*.log", "build", "build/", "d?", "**/x.go", "d0/d1", "*", "z", "\\!odd", "\\#odd", ".h", "keep.log",
					)+pick("", "", "/"),
				)
			}
			b.WriteFile(
				filepath.Join(dir, pick(".gitignore", ".ignore", ".rgignore")), strings.Join(rules, pick("\n", "\r\n"))+"\n",
			)
		case 1:
			// fails if a file is in the way
			_ = os.MkdirAll(b.Path(dir), 0o755)
			// fails if the link exists
			_ = os.Symlink(pick("..", "/etc", "d0", "x.go", "nowhere"), b.Path(filepath.Join(dir, "l"+pick("1", "2"))))
		default:
			path := b.Path(filepath.Join(dir, pick("f", "g")+name()))
			if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
				continue
			}
			text := strings.Repeat(
				pick("hay ", "needle", "thread", "NEEDLE", "pin needle", "\xff", "ÿ", "\x00", "\uFEFF")+pick(" ", "\n", "\r\n", ""),
				1+rnd.IntN(5),
			)
			switch rnd.IntN(4) {
			case 0:
				text = encodeUTF16(text, binary.LittleEndian)
			case 1:
				text = "\uFEFF" + text
			}
			_ = os.WriteFile(path, []byte(text), 0o644) // fails if a directory is in the way
		}
	}
	b.WriteFile("d0/plain.go", "needle\n")
	b.WriteFile("d1/d0/plain.go", "hay needle\n")
	return b
}

// A search never runs an rg of the project, whatever PATH contains.
func TestProjectRipgrepIsNotRun(t *testing.T) {
	b := newProject(t)
	b.WriteFile("bin/rg", "#!/bin/sh\necho run >"+b.Path("started")+"\n")
	if err := os.Chmod(b.Path("bin/rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := b.OutsidePath("links")
	if err := errors.Join(
		os.Mkdir(out, 0o755), os.Symlink(b.Path("bin/rg"), filepath.Join(out, "rg")), os.Symlink("/usr/bin", b.Path("link")),
	); err != nil {
		t.Fatal(err)
	}
	t.Chdir(b.Dir)
	t.Setenv("PATH", strings.Join([]string{"bin", ".", "", b.Path("bin"), out, b.Path("link")}, ":"))
	for range 3 {
		tooltest.MustContain(t, tooltest.TextOf(b.Call("grep", tooltest.Input{"pattern": "package"})), "Found 3 matches")
	}
	if _, err := os.Stat(b.Path("started")); err == nil {
		t.Error("it was started")
	}
}

// The result does not depend on what ripgrep does.
func TestWhenRipgrepFails(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		asked  int // starts in two searches
	}{
		"works": {`printf './main.go\000./pkg/run.go\000./pkg/run_test.go\000./a.gen.go\000'; exit 0`, 2},
		"fails": {`printf './main.go\000'; exit 2`, 2},
		"dies":  {`kill -9 $$`, 2},
		"names more": {
			`printf './main.go\000./pkg/run.go\000./pkg/run_test.go\000./debug.log\000./ignored/x.go\000./.git/config\000./none\000./pkg\000./private.txt\000'`,
			2,
		},
		"leads out":         {`printf '../x\000'`, 2},
		"names a path":      {`printf '/etc/passwd\000'`, 2},
		"is cut off":        {`printf './main.go'`, 2},
		"says something":    {`echo ripgrep; exit 0`, 2},
		"never stops words": {`exec /usr/bin/yes`, 2},
		"is no program":     {``, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newProject(t)
			t.Setenv("PATH", t.TempDir())
			want := tooltest.TextOf(b.Call("grep", tooltest.Input{"pattern": "package"}))
			asked := installFakeRipgrep(t, b, c.script)
			if c.asked == 0 {
				b.WriteFile(filepath.Join(os.Getenv("PATH"), "rg"), "\x7fELF")
			}
			for range 2 {
				if diff := cmp.Diff(want, tooltest.TextOf(b.Call("grep", tooltest.Input{"pattern": "package"}))); diff != "" {
					t.Error(diff)
				}
			}
			if got := asked(); len(got) != c.asked {
				t.Errorf("asked: %q", got)
			}
		})
	}
}

// The arguments of ripgrep are fixed, and its environment contains only LC_ALL.
func TestRipgrepArguments(t *testing.T) {
	b := newProject(t)
	t.Setenv("RIPGREP_CONFIG_PATH", "/evil")
	asked := installFakeRipgrep(t, b, "exit 1")
	for _, input := range []tooltest.Input{
		{"pattern": "run"},
		{"pattern": `(func|type) .`, "path": "pkg"},
		{"pattern": `(?i)run(ner){0,2}\(`},
		{"pattern": `^\w+?$`, "include": "*.go"},
		{"pattern": `\bp\D`, "include": "*.{go,ts}"},
	} {
		b.Call("grep", input)
	}
	fixed := "--no-config --no-messages --hidden --text --case-sensitive --files-with-matches --null --color=never " +
		"--no-require-git --no-ignore-parent --no-ignore-exclude --no-ignore-global --glob=!.git "
	any, end := `(?:[\x{0}-\x{9}\x{B}-\x{10FFFF}]|(?-u:[\x80-\xFF]))`, " -- ./ ["+b.Dir+"] 1"
	want := []string{
		fixed + "--regexp=run" + end,
		fixed + `--regexp=(?:(?:(?:func)|(?:type)))(?: )(?:` + any + `) -- ./ [` + b.Path("pkg") + "] 1",
		fixed + `--regexp=(?:[\x{52}-\x{52}\x{72}-\x{72}][\x{55}-\x{55}\x{75}-\x{75}][\x{4E}-\x{4E}\x{6E}-\x{6E}])` +
			`(?:(?:(?:[\x{4E}-\x{4E}\x{6E}-\x{6E}][\x{45}-\x{45}\x{65}-\x{65}][\x{52}-\x{52}\x{72}-\x{72}])){0,2})(?:\()` + end,
		fixed + `--glob=*.go --regexp=(?:(?m:^)\x{FEFF}?)(?:(?:[\x{30}-\x{39}\x{41}-\x{5A}\x{5F}-\x{5F}\x{61}-\x{7A}])+)` +
			`(?:(?:(?:\x{D})?)(?:(?m:$)))` + end,
		fixed + `--regexp=(?:(?-u:\b))(?:p)(?:(?:[\x{0}-\x{9}\x{B}-\x{2F}\x{3A}-\x{10FFFF}]|(?-u:[\x80-\xFF])))` + end,
	}
	if diff := cmp.Diff(want, asked()); diff != "" {
		t.Error(diff)
	}
}

// A cancelled search ends ripgrep.
func TestCancelledSearchEndsRipgrep(t *testing.T) {
	b := newProject(t)
	b.Call("grep", tooltest.Input{"pattern": "package"})
	began := filepath.Join(t.TempDir(), "began")
	fifotest.Make(t, began)
	installFakeRipgrep(t, b, "echo $$ >"+began+"; exec /bin/sleep 86003")
	ctx, cancel := context.WithCancel(t.Context())
	var pid []byte
	var err error
	var all sync.WaitGroup
	all.Go(func() {
		pid, err = os.ReadFile(began)
		cancel()
	})
	if s := b.CallWith(ctx, tool.Call{Name: "grep"}, tooltest.Input{"pattern": "package"}); s.Error == nil {
		t.Error(tooltest.TextOf(s))
	}
	all.Wait()
	number, nerr := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil || nerr != nil || !hasEnded(number) {
		t.Errorf("it still runs: %q, %v", pid, err)
	}
}

func hasEnded(pid int) bool {
	p, err := os.FindProcess(pid)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
