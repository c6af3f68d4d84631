package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/extension"
)

// TestNode: without Bun, plugins run under Node: TypeScript, the imports of OpenCode's packages and $.
func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on PATH")
	}
	// A PATH that has node and no bun.
	bin := t.TempDir()
	if err := os.Symlink(node, filepath.Join(bin, "node")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	if bun, err := exec.LookPath("bun"); err == nil {
		t.Skip("bun is at", bun)
	}
	w := newWorldWith(t)
	set, state, _ := w.open(map[string]string{"one.ts": `
import type { Plugin } from "@opencode-ai/plugin"
export const One: Plugin = async ({ $ }) => ({ "experimental.text.complete": async (i: any, o: { text: string }) => {
	o.text = (await $` + "`printf %s ${o.text} | tr a-z A-Z`" + `.text()) + (await $` + "`exit 3`" + `.nothrow()).exitCode
} })`})
	if strings.Contains(state.Error, "Node 22.15") {
		t.Skip(state.Error)
	}
	if state.Error != "" || state.Plugins[0].Error != "" || !strings.HasPrefix(state.Runtime, "node v") {
		t.Fatal(state)
	}
	v := extension.Text{Text: "it's $HOME"}
	if err := set.Extensions(state)[0].Text(t.Context(), &v); err != nil || v.Text != "IT'S $HOME3" {
		t.Errorf("%q %v", v.Text, err)
	}
}
