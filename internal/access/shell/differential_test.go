//go:build linux

package shell_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// judge reads the line and evaluates it if it is plain. fault says how bash's reading differs, "" if it does not.
type judge func(o *oracle, line string) (plain bool, fault string, err error)

// locales are those of the oracles: what is a blank or a letter depends on them.
var locales = []string{"C", "C.UTF-8"}

// count is the number of generated lines: 20,000 in CI; where CAIRN_SOAK is set, its number of millions, or ten.
func count() int {
	millions, _ := strconv.Atoi(os.Getenv("CAIRN_SOAK"))
	switch {
	case testing.Short():
		return 5_000
	case millions > 1:
		return millions * 1_000_000
	case os.Getenv("CAIRN_SOAK") != "":
		return 10_000_000
	default:
		return 20_000
	}
}

// progressEvery is after how many lines a long hunt says how far it is.
const progressEvery = 500_000

// huntDifferences generates n lines, judges each, and returns the minimised lines with faults, at most limit.
func huntDifferences(t *testing.T, n int, seed uint64, limit int, judge judge) (plain int64, found []string) {
	t.Helper()
	var (
		mu    sync.Mutex // guards found
		total atomic.Int64
		done  atomic.Int64
		stop  atomic.Bool
		group sync.WaitGroup
	)
	for lane, locale := range locales {
		o := newOracle(t, locale)
		group.Go(func() {
			g := newLineGenerator(seed*2 + uint64(lane))
			for range n / len(locales) {
				if stop.Load() {
					return
				}
				line := g.nextLine()
				ok, fault, err := judge(o, line)
				if err != nil {
					fault = err.Error()
				}
				if ok {
					total.Add(1)
				}
				if done := done.Add(1); done%progressEvery == 0 {
					t.Logf("%d lines, %d of them plain", done, total.Load())
				}
				if fault == "" {
					continue
				}
				small, fault := shrinkLine(o, line, fault, judge)
				mu.Lock()
				found = append(found, small)
				stop.Store(len(found) >= limit)
				mu.Unlock()
				t.Logf("%s: %q: %s", locale, small, fault)
			}
		})
	}
	group.Wait()
	return total.Load(), found
}

// judgeLine judges by compare.
func judgeLine(o *oracle, line string) (bool, string, error) {
	r, err := readLine(line)
	if err != nil {
		return false, "", nil
	}
	fault, err := compare(o, line, r)
	return true, fault, err
}

// shrinkLine removes parts of the line as long as there is a fault.
func shrinkLine(o *oracle, line, fault string, judge judge) (string, string) {
	for size := len(line) / 2; size > 0; {
		removed := false
		for at := 0; at+size <= len(line); {
			shorter := line[:at] + line[at+size:]
			if !isHarmless(shorter) {
				at++
				continue
			}
			if _, f, err := judge(o, shorter); err == nil && f != "" {
				line, fault, removed = shorter, f, true
				continue
			}
			at++
		}
		if !removed || size > len(line) {
			size /= 2
		}
	}
	return line, fault
}

// A plain line means to bash what its reading says.
func TestDifferential(t *testing.T) {
	seed, begun := uint64(1), time.Now()
	if os.Getenv("CAIRN_SOAK") != "" {
		seed = uint64(begun.UnixNano())
	}
	n, limit := count(), 10
	if os.Getenv(hunted) != "" {
		limit = 1
	}
	plain, found := huntDifferences(t, n, seed, limit, judgeLine)
	for _, line := range found {
		t.Errorf("misread: %q", line)
	}
	if plain < int64(n)/5 && len(found) == 0 {
		t.Errorf("%d of %d lines were plain: this proves little", plain, n)
	}
	t.Logf("%d of %d lines plain, seed %d, %v", plain, n, seed, time.Since(begun).Round(time.Millisecond))
}

// Real shells pass to execve the words of the reading, for a sample of the lines.
func TestExecve(t *testing.T) {
	builtins, err := exec.Command("bash", "-c", "compgen -b").Output()
	if err != nil {
		t.Skip("bash is not installed: ", err)
	}
	isBuiltin := map[string]bool{}
	for name := range strings.FieldsSeq(string(builtins)) {
		isBuiltin[name] = true
	}
	for lane, shell := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		o, g, ran := newOracle(t, locales[lane]), newLineGenerator(uint64(10+lane)), 0
		for ran < 400 {
			line := g.nextLine()
			r, err := readLine(line)
			if err != nil || shell == "dash" && strings.Contains(line, "&>") {
				continue
			}
			whole, names := !strings.Contains(line, "||"), wordsOf.FindAllString(line, -1)
			for _, c := range r {
				if len(c.words) > 0 {
					name := c.words[0].Text
					names, whole = append(names, name), whole && c.words[0].Literal && !isBuiltin[name] && len(c.opens) == 0 &&
						!strings.Contains(name, "/")
				}
			}
			if slices.ContainsFunc(names, func(name string) bool { return runsOthers[name] }) {
				continue
			}
			got, err := o.execute(t.Context(), shell, line, names)
			if err != nil {
				t.Fatalf("%s: %q: %v", shell, line, err)
			}
			ran++
			by, fault := r.assign(got, false)
			for i, c := range r {
				if whole && by[i] < 0 && !c.isEmpty() && fault == "" {
					fault = fmt.Sprintf("did not run %v", c)
				}
			}
			if fault != "" {
				t.Errorf("%s: %q: %s", shell, line, fault)
			}
		}
	}
}

var wordsOf = regexp.MustCompile(`[a-zA-Z0-9_.-]+`)

// runsOthers are the builtins that run their words, or change how names are looked up.
var runsOthers = map[string]bool{"exec": true, "command": true, "eval": true, ".": true, "trap": true, "env": true}

// Lines that were misread once are read as bash reads them, or not at all.
func TestDifferences(t *testing.T) {
	for _, locale := range locales {
		o := newOracle(t, locale)
		for _, line := range append(listedLines(differencesText), listedLines(everydayText)...) {
			if !isHarmless(line) {
				t.Errorf("not harmless: %q", line)
				continue
			}
			switch _, fault, err := judgeLine(o, line); {
			case err != nil:
				t.Fatalf("%q: %v", line, err)
			case fault != "":
				t.Errorf("%s: %s: %s", locale, strings.TrimSpace(line), fault)
			}
		}
	}
}
