package root

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/go-json-experiment/json/jsontext"
)

// TestHostedLeftOut: hosted tools that the configuration offers and the model's request leaves out are reported with
// the answer.
func TestHostedLeftOut(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	sh.world.known = &client.KnownModel{
		Dropped: []string{"effort: it knows none", models.HostedDropped + "web_search goes only alone"},
	}
	if o := sh.run("run", "hi"); strings.Contains(o.stderr.String(), "web_search") {
		t.Errorf("a note that was not requested: %s", o.stderr.String())
	}
	sh.world.config.Provider = map[string]config.Provider{
		"mock": {Hosted: []jsontext.Value{jsontext.Value(`"web_search"`)}},
	}
	o := sh.run("run", "hi")
	if said := o.stderr.String(); o.code != 0 || !strings.Contains(said, "hosted_tools: web_search goes only alone") ||
		strings.Contains(said, "effort") {
		t.Errorf("exit %d: %s", o.code, said)
	}
}
