package mcp_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A call of a tool whose server is not there says why, instead of only that the tool is unknown.
func TestUnknownToolOfAMissingServer(t *testing.T) {
	t.Parallel()
	no := false
	off := local("good")
	off.Enabled = &no
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{
		"down": local("exit"), "slow": local("silent"), "off": off, "good": local("good"), "good_two": local("exit"),
	})
	w.awaitStatus("down", mcp.Failed)
	w.awaitStatus("good_two", mcp.Failed)
	w.awaitStatus("good", mcp.Connected)
	for name, want := range map[string]string{
		"down_a":     `unknown tool "down_a". The MCP server down failed: its program ended with exit code 3`,
		"slow_a":     "The MCP server slow is still connecting. Its tools join at the next turn.",
		"off_a":      "The MCP server off is disabled.",
		"good_echo":  "The MCP server good has connected since this turn began.",
		"good_nope":  `unknown tool "good_nope". No tools`,
		"good_two_a": "The MCP server good_two failed",
	} {
		wantText(t, w.failure(name, `{}`), want)
	}
	set := w.pool.Open(mcp.Location{Directory: t.TempDir(), Untrusted: []string{"theirs"}})
	theirs := &world{t: t, registry: newRegistry(set)}
	wantText(t, theirs.failure("theirs_a", `{}`), "The MCP server theirs is not trusted: the project's files configure it")
}

func newRegistry(s *mcp.Set) *tool.Registry {
	r := tool.NewRegistry(tool.Config{})
	mcp.NewTools(s, r)
	return r
}

// The model is told once which servers a turn lacks, and when they are there; the text stays while the state does.
func TestContextNamesMissingServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"down": local("exit"), "good": local("good")})
	w.awaitStatus("down", mcp.Failed)
	w.connect("good")
	g, err := systemcontext.Initialize(t.Context(), w.tools.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, g.Baseline, "The MCP server down failed: its program ended with exit code 3")
	if strings.Contains(g.Baseline, "good") {
		t.Errorf("a connected server is named: %s", g.Baseline)
	}
	w.tools.Sync()
	o, err := systemcontext.Reconcile(t.Context(), w.tools.Context(), g.Snapshot)
	if err != nil || o.Kind != systemcontext.OutcomeUnchanged {
		t.Errorf("the same state again: %v, %v", o, err)
	}
	described, err := systemcontext.Describe(t.Context(), w.tools.Context(), g.Snapshot)
	if err != nil || len(described) != 1 {
		t.Fatalf("%+v, %v", described, err)
	}
	wantText(t, strings.Join(mcp.DescribeMissing(described[0]), "\n"),
		"this turn lacks tools: The MCP server down failed: its program ended with exit code 3")
	described, _ = systemcontext.Describe(t.Context(), nil, g.Snapshot)
	wantText(t, strings.Join(mcp.DescribeMissing(described[0]), "\n"), "their tools join at the next turn")
}
