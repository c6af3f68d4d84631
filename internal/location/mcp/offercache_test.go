package mcp_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// newProcess returns the world of another process of the location with the same cache.
func (w *world) newProcess(servers map[string]config.MCP, cache *mcp.OfferCache) *world {
	w.pool.Close()
	return newWorldAt(w.t, w.dir, mcp.Options{Offers: cache}, servers)
}

// describe returns what a model is told about missing servers and by servers.
func (w *world) describe() string {
	w.t.Helper()
	var texts []string
	for _, c := range []systemcontext.Context{w.tools.Context(), w.set.Context(nil)} {
		g, err := systemcontext.Initialize(w.t.Context(), c)
		if err != nil {
			w.t.Fatal(err)
		}
		texts = append(texts, g.Baseline)
	}
	return strings.Join(texts, "")
}

// The first request of a process is as the last one of the process before, before a server has connected.
func TestOfferOfTheProcessBefore(t *testing.T) {
	t.Parallel()
	cache := mcp.NewOfferCache(t.TempDir())
	servers := map[string]config.MCP{"good": local("good"), "down": local("exit")}
	w := newWorld(t, mcp.Options{Offers: cache}, servers)
	w.awaitStatus("down", mcp.Failed)
	w.connect("good")
	before, told := w.registry.TakeSnapshot(nil).Definitions(), w.describe()
	wantText(t, told, "The MCP server down failed: its program ended with exit code 3")

	w = w.newProcess(servers, cache)
	w.tools.Sync() // no server can have connected
	if now := w.registry.TakeSnapshot(nil).Definitions(); !reflect.DeepEqual(now, before) {
		t.Errorf("the tools are\n%v, before\n%v", now, before)
	}
	if now := w.describe(); now != told {
		t.Errorf("the context is\n%s\nbefore\n%s", now, told)
	}
	wantText(t, w.text("good_echo", `{"text":"hi"}`), "hi")

	servers["good"] = local("exit") // another program of that name
	w = w.newProcess(servers, cache)
	w.tools.Sync()
	if names := w.names("good_"); names != nil {
		t.Errorf("tools of another configuration are offered: %v", names)
	}
}

// Tools of a server that fails in the next process leave, with the reason, and come back when it works again.
func TestOfferOfAServerThatFails(t *testing.T) {
	t.Parallel()
	cache, dir := mcp.NewOfferCache(t.TempDir()), t.TempDir()
	script := filepath.Join(dir, "server")
	self, _ := os.Executable()
	write := func(mode string) {
		text := "#!/bin/sh\nexec " + self + " " + serverWord + " " + mode + "\n"
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	servers := map[string]config.MCP{"s": {Type: "local", Command: []string{"/bin/sh", script}}}
	write("good")
	w := newWorld(t, mcp.Options{Offers: cache}, servers)
	w.connect("s")
	write("exit")
	w = w.newProcess(servers, cache)
	w.tools.Sync()
	if w.names("s_") == nil {
		t.Error("the tools are not offered before the first attempt has failed")
	}
	w.awaitStatus("s", mcp.Failed)
	w.tools.Sync()
	if names := w.names("s_"); names != nil {
		t.Errorf("tools of a server that failed: %v", names)
	}
	wantText(t, w.describe(), "The MCP server s failed")
	write("good")
	w = w.newProcess(servers, cache)
	w.tools.Sync()
	wantText(t, w.describe(), "The MCP server s failed")
	w.connect("s")
	if told := w.describe(); w.names("s_") == nil || strings.Contains(told, "failed") {
		t.Errorf("%v, %s", w.names("s_"), told)
	}
}

// A server that was connected and cannot be connected again keeps its tools, and the model is told.
func TestServerThatEndsForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"s": local("die", filepath.Join(t.TempDir(), "died"))})
	w.connect("s")
	w.failure("s_echo", `{}`) // ends it
	w.awaitStatus("s", mcp.Failed)
	w.failure("s_echo", `{}`) // tries to connect
	w.tools.Sync()
	if w.names("s_") == nil {
		t.Error("the tools left")
	}
	wantText(t, w.describe(), "The MCP server s failed: its program ended with exit code")
}

// A damaged file is as none.
func TestDamagedOfferCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cache := mcp.NewOfferCache(dir)
	servers := map[string]config.MCP{"good": local("good")}
	w := newWorld(t, mcp.Options{Offers: cache}, servers)
	w.connect("good")
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	for _, text := range []string{"", "null", "[", `{"tools":[null,{"name":7}]}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w = w.newProcess(servers, cache)
		w.tools.Sync()
		w.connect("good")
		if w.names("good_") == nil {
			t.Errorf("%q: no tools", text)
		}
	}
}
