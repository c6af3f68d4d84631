package tui

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKeysDocument: the keys of docs/keys.md exist in cairn, and its counts and sums are right.
func TestKeysDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := newKeyMap(nil)
	others := strings.Fields("enter ctrl+j @ ! up ctrl+_ alt+s y s a r n b 2 pgup ctrl+end ctrl+d ctrl+r")
	keys := regexp.MustCompile("`([^`]+)`")
	var actions int
	var shared [3]int // over the actions that all have
	var both [2]int   // over those that cairn and OpenCode have
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 9 || !strings.Contains(line, "`") {
			continue
		}
		actions++
		var counts [3]int
		for i := range counts {
			for _, k := range keys.FindAllStringSubmatch(cells[2+2*i], -1) {
				key := k[1]
				if _, ok := own.byKey[key]; i == 0 && !ok && !slices.Contains(others, key) {
					t.Errorf("%s: cairn has no key %s", cells[1], key)
				}
				if strings.HasPrefix(key, "/") { // its letters are typed
					counts[i] += len(key)
				} else {
					counts[i]++
				}
			}
			if strings.HasPrefix(cells[2+2*i], " none") {
				counts[i] = 0
			}
			shown := strings.TrimSpace(cells[3+2*i])
			if want := strings.TrimPrefix(fmt.Sprint(counts[i]), "0"); shown != want {
				t.Errorf("%s: %q keys are shown, want %q: %s", cells[1], shown, want, cells[2+2*i])
			}
		}
		for i, n := range counts {
			if !slices.Contains(counts[:], 0) {
				shared[i] += n
			}
			if i < 2 && counts[0] > 0 && counts[1] > 0 {
				both[i] += n
			}
		}
	}
	sums := fmt.Sprintf("cairn %d keys, OpenCode %d, Crush %d", shared[0], shared[1], shared[2])
	if !strings.Contains(string(text), sums) {
		t.Errorf("the sums are: %s", sums)
	}
	if sums = fmt.Sprintf("cairn %d, OpenCode %d", both[0], both[1]); !strings.Contains(string(text), sums) {
		t.Errorf("the sums are: %s", sums)
	}
	if actions != 40 {
		t.Errorf("%d actions", actions)
	}
}

// TestKeyTable: the table of all keys in docs/keys.md names every command of the interface, those with keys beside them.
func TestKeyTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Key | Command | Effect |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	own, _ := newKeyMap(nil)
	quoted := regexp.MustCompile("`([^`]+)`")
	named := map[string]string{} // by command
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(line, "`/") {
			continue
		}
		keys := quoted.FindAllStringSubmatch(cells[1], -1)
		for i, c := range quoted.FindAllStringSubmatch(cells[2], -1) {
			name, _, _ := strings.Cut(strings.TrimPrefix(c[1], "/"), " ")
			named[name] = ""
			if i < len(keys) {
				named[name] = keys[i][1]
			}
		}
	}
	for _, c := range own.commands {
		name := strings.ReplaceAll(c.name, " ", "-")
		key, ok := named[name]
		if !ok {
			t.Errorf("docs/keys.md does not name /%s", name)
		}
		if c.name != "timeline" && key != c.key { // Esc Esc is no key of its own
			t.Errorf("docs/keys.md gives /%s the key %q, want %q", name, key, c.key)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("docs/keys.md names /%s, which the interface does not have", name)
	}
}
