package host

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/plugin"
)

// What a plugin calls its tools does not change the rules of other actions: they are patterns of actions that ask, and
// that open sessions allow.
func TestPluginToolActions(t *testing.T) {
	var tools []map[string]string
	for _, name := range []string{
		"*", "external_*", "external_directory", "doom_loop", "webfetch_local", "read", "question", "plan_enter", "plan_exit",
		"", "a b", "ré", "-x", "greet", "git-log", "bash",
	} {
		tools = append(tools, map[string]string{"name": name})
	}
	var state plugin.State
	if err := json.Unmarshal(encodeForm(map[string]any{"plugins": []any{map[string]any{"tools": tools}}}), &state); err != nil {
		t.Fatal(err)
	}
	s := pluginState{State: state}
	if diff := cmp.Diff([]string{"greet", "git-log", "bash"}, s.toolNames()); diff != "" {
		t.Error(diff)
	}
}

// The rules that plugins make allow something only if each of them is the user's and is named by extensions.allow.
func TestMayAllowOfAll(t *testing.T) {
	own := config.Plugin{ID: "plugin/own"}
	other := config.Plugin{ID: "plugin/other"}
	project := config.Plugin{ID: "plugin/project", Project: true}
	allow := []string{"plugin/own", "plugin/project"}
	for _, c := range []struct {
		listed []config.Plugin
		want   bool
	}{
		{[]config.Plugin{own}, true}, {[]config.Plugin{own, other}, false}, {[]config.Plugin{own, project}, false},
	} {
		s := pluginState{listed: c.listed}
		if got := s.mayAllow(allow); got != c.want {
			t.Errorf("%v: %v", c.listed, got)
		}
	}
}
