package keymap

import (
	"slices"
	"testing"
)

// TestBindKeys: the user's keys win over the default ones, in the same way each time, and what has no effect is named.
func TestBindKeys(t *testing.T) {
	defaults := []Binding{{"help", "f1"}, {"quit", "ctrl+c"}, {"search", "ctrl+r"}, {"undo", "alt+u"}}
	for range 20 {
		bound, problems := BindKeys(defaults, map[string]string{
			"undo": "ctrl+r", "help": "none", "fly": "f9", "quit": "ctrl+enterr", "search": "f1",
		})
		want := []Binding{{"help", ""}, {"quit", "ctrl+c"}, {"search", "f1"}, {"undo", "ctrl+r"}}
		complaints := []string{"no command is named fly", `quit: "ctrl+enterr" is not a key`}
		if !slices.Equal(bound, want) || !slices.Equal(problems, complaints) {
			t.Fatalf("%v, %q", bound, problems)
		}
		bound, problems = BindKeys(defaults, map[string]string{"undo": "f2", "quit": "f2"})
		want = []Binding{{"help", "f1"}, {"quit", "f2"}, {"search", "ctrl+r"}, {"undo", "alt+u"}}
		if !slices.Equal(bound, want) || !slices.Equal(problems, []string{"undo: quit has f2 already"}) {
			t.Fatalf("%v, %q", bound, problems)
		}
	}
}

func TestIsKey(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "ctrl+k": true, "ctrl++": true, "+": true, "alt+enter": true, "ctrl+alt+f12": true, "f63": true,
		"menu": true, "shift+pause": true, "printscreen": true, "ctrl+plus": true, "mediaplay": true,
		"": false, "ctrl": false, "ctrl+": false, "enterr": false, "f64": false, "f0": false, "f1x": false, "none+a": false,
	} {
		if isKey(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
