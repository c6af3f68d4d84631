package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// unlike are the commands and flags of OpenCode's that are named and not taken, each with its reason.
var unlike = map[string]string{}

// TestEveryCommandOfOpenCode: each command, argument and flag that the real program's --help lists is taken under its
// name, or refused with what to do instead.
func TestEveryCommandOfOpenCode(t *testing.T) {
	recorded, err := os.ReadFile("testdata/opencode/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for l := range strings.Lines(string(recorded)) {
		words := strings.Fields(strings.TrimSuffix(l, "\n"))
		if words[0] == "#" {
			continue
		}
		n++
		a := newApp(nil, Process{Name: openCode, Env: func(string) string { return "" }})
		root := a.root()
		at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || strings.ContainsAny(w, "[<") })
		if at < 0 {
			at = len(words)
		}
		path := words[1:at]
		cmd, rest, err := root.Find(path)
		if err != nil || len(rest) > 0 && !takesAnything(cmd) {
			t.Errorf("%s: there is no such command (%v)", strings.Join(path, " "), err)
			continue
		}
		if takesAnything(cmd) {
			continue
		}
		for _, w := range words[at:] {
			if !strings.HasPrefix(w, "-") {
				continue
			}
			checkFlag(t, cmd, w)
		}
	}
	if n < 50 {
		t.Errorf("only %d commands were recorded", n)
	}
}

// takesAnything reports whether the command is one that is refused whatever stands behind it.
func takesAnything(cmd *cobra.Command) bool { return cmd.FParseErrWhitelist.UnknownFlags }

// checkFlag looks for a flag by each of its names, -c/--continue.
func checkFlag(t *testing.T, cmd *cobra.Command, names string) {
	t.Helper()
	short := ""
	for name := range strings.SplitSeq(names, "/") {
		if unlike[cmd.CommandPath()+" "+name] != "" {
			continue
		}
		if long, ok := strings.CutPrefix(name, "--"); !ok {
			short = strings.TrimPrefix(name, "-")
		} else if f := cmd.Flag(long); f == nil {
			t.Errorf("%s does not know %s", cmd.CommandPath(), name)
		} else if short != "" && cmd.Flags().ShorthandLookup(short) == nil {
			t.Errorf("%s does not know -%s", cmd.CommandPath(), short)
		}
	}
}

// What is not there says so, whatever stands behind it, and what to do instead.
func TestElsewhere(t *testing.T) {
	s := &shell{world: newWorld(t, `{"turns":[{"steps":[{"text":"Hello."}]}]}`)}
	for _, e := range elsewhere {
		for _, args := range [][]string{{e.use}, {e.use, "x", "--y", "z"}} {
			out := s.runAs(openCode, args...)
			if out.code != 1 || !strings.Contains(out.stderr.String(), e.why) || !strings.Contains(out.stderr.String(), e.instead) || out.stdout.Len() > 0 {
				t.Errorf("%v: %d %s%s", args, out.code, &out.stdout, &out.stderr)
			}
		}
		if out := s.runAs(openCode, e.use, "--help"); out.code != 0 || !strings.Contains(out.stdout.String(), e.instead) {
			t.Errorf("%s --help: %d %s%s", e.use, out.code, &out.stdout, &out.stderr)
		}
	}
}
