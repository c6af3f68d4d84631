package plugin_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/plugin"
)

// follower is a plugin that follows events and gives its version to commands.
const follower = `export const Follower = async ({ directory }) => ({
	event: async () => {}, "shell.env": async (i, o) => { o.env.VERSION = "V" },
})`

// TestUse: plugins whose place others take go on for the work that uses them, without events, and end with it or with
// their location.
func TestUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begun, ended := make(chan struct{}, 10), make(chan struct{}, 10) // 10: more than there are programs
	w.api = func(r *http.Request) (*http.Response, error) {
		begun <- struct{}{}
		pr, pw := io.Pipe()
		context.AfterFunc(r.Context(), func() {
			_ = pw.Close()
			ended <- struct{}{}
		})
		return &http.Response{StatusCode: http.StatusOK, Body: pr}, nil
	}
	open := func(version string) (*plugin.Set, extension.Extension) {
		set, state, _ := w.open(map[string]string{"one.ts": strings.ReplaceAll(follower, `"V"`, `"`+version+`"`)})
		if state.Error != "" {
			t.Fatal(state.Error)
		}
		<-begun
		return set, set.Extensions(state)[0]
	}
	check := func(e extension.Extension, want string) {
		t.Helper()
		v := extension.Environment{}
		if err := e.Environment(t.Context(), &v); err != nil || v.Variables["VERSION"] != want {
			t.Errorf("%v, %v; want %s", v.Variables, err, want)
		}
	}
	first, e1 := open("1")
	releaseOne, ok := first.Use()
	releaseAgain, alsoOK := first.Use()
	if !ok || !alsoOK {
		t.Fatal("a Set that runs cannot be used")
	}
	second, e2 := open("2")
	<-ended // the events of the first program
	check(e1, "1")
	check(e2, "2")
	// The last work ends the first one; nothing uses it after that.
	releaseOne()
	releaseOne()
	releaseThird, ok := first.Use()
	if !ok {
		t.Fatal("a Set that is used has ended")
	}
	releaseThird()
	releaseAgain()
	if _, ok := first.Use(); ok {
		t.Error("a Set that has ended can be used")
	}
	// The end of the location ends those that are used too.
	if _, ok := second.Use(); !ok {
		t.Fatal("a Set that runs cannot be used")
	}
	open("3")
	w.pool.CloseLocation(w.dir)()
	for _, e := range []extension.Extension{e1, e2} {
		if err := e.Environment(t.Context(), &extension.Environment{}); err == nil {
			t.Error("the plugins run after the end of their location")
		}
	}
	if _, ok := second.Use(); ok {
		t.Error("a Set can be used after the end of its location")
	}
}
