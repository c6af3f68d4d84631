package mcp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// Public servers work. CAIRN_MCP_SERVERS is a directory in which npm installed them (make mcp); without it the
// test does nothing.
func TestPublicServers(t *testing.T) {
	dir := os.Getenv("CAIRN_MCP_SERVERS")
	if dir == "" {
		t.Skip("CAIRN_MCP_SERVERS is not set")
	}
	files := t.TempDir()
	bin := func(name string, args ...string) config.MCP {
		c := config.MCP{Type: "local", Command: append([]string{filepath.Join(dir, "node_modules/.bin", name)}, args...)}
		c.Environment = map[string]string{"MEMORY_FILE_PATH": filepath.Join(files, "memory.json")}
		return c
	}
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{
		"everything": bin("mcp-server-everything"), "filesystem": bin("mcp-server-filesystem", files),
		"memory": bin("mcp-server-memory"), "thinking": bin("mcp-server-sequential-thinking"),
	})
	writeFile(t, w.dir, "hello.txt", "hello from a file") // the server uses the root instead of its argument
	for _, name := range []string{"everything", "filesystem", "memory", "thinking"} {
		w.connect(name)
	}
	for _, test := range [][3]string{
		{"everything_echo", `{"message":"hi"}`, "Echo: hi"},
		{"everything_get-sum", `{"a":2,"b":3}`, "5"},
		{"filesystem_read_text_file", `{"path":"` + filepath.Join(w.dir, "hello.txt") + `"}`, "hello from a file"},
		{"memory_create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes"]}]}`, "Ada"},
		{"memory_read_graph", `{}`, "writes"},
		{
			"thinking_sequentialthinking",
			`{"thought":"t","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber",
		},
	} {
		wantText(t, w.text(test[0], test[1]), test[2])
	}
	if got := w.call("everything_get-tiny-image", `{}`); len(got.Output.Attachments) != 1 {
		t.Errorf("the image is %+v", got)
	}
	wantText(t, w.text("list_mcp_resources", `{}`), "everything")
	if len(w.set.Commands()) == 0 {
		t.Error("there are no prompts")
	}
}
