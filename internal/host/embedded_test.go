package host

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A client that chooses among the listed models can choose the embedded model, if there is one.
func TestEmbeddedModelIsOffered(t *testing.T) {
	for _, file := range []string{"", "script.json"} {
		home, _ := newHome(t)
		o := optionsOf(home)
		if own := script.Embed(file); own != nil {
			o.Program.Models = []*llm.EmbeddedModel{own}
		}
		dirs, err := config.FindDirectories(o.Env)
		if err != nil {
			t.Fatal(err)
		}
		lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := openOwner(t.Context(), lease, dirs, o)
		if err != nil {
			t.Fatal(err)
		}
		at := session.Location{Directory: filepath.Join(home, "project")}
		offered, err := w.locations.Models(t.Context(), at)
		if err != nil {
			t.Error(err)
		}
		v2 := slices.ContainsFunc(offered, func(m api.Model) bool { return m.ID == "script" })
		l, err := v1Backend{w.locations}.Location(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		var v1 bool
		for _, p := range l.ListProviders().All {
			_, has := p.Models["script"]
			v1 = v1 || has
		}
		if want := file != ""; v1 != want || v2 != want {
			t.Errorf("with the script %q: V1 offers it: %v, V2: %v", file, v1, v2)
		}
		if err := w.close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
