package host

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/instruction"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// turnSources returns the sources that depend on the session and its turn.
func turnSources(ctx context.Context, p *locationSetup, in scope.ContextInput) systemcontext.Context {
	plan := instruction.PlanPath(in.Session, p.project.Worktree, p.plans)
	zone := cmp.Or(in.Session.Timezone, session.TimeZone(p.config.Timezone))
	return slices.Concat(
		instruction.DateContext(zone.ConvertTime(time.Now())),
		p.instructions.NestedContext(ctx, in.Session.Nested),
		instruction.ModeContext(in.Agent.ID, plan),
		instruction.ReferenceContext(listReferences(p)),
		instruction.SharedContext(in.Session.Entries),
		instruction.EntryContext(in.Session.Entries),
	)
}

// listReferences returns the references with a description. A relative path starts at the top of the project.
func listReferences(p *locationSetup) (out []instruction.Reference) {
	for _, name := range slices.Sorted(maps.Keys(p.config.References)) {
		var r struct {
			Path        string `json:"path"`
			Description string `json:"description"`
			Hidden      bool   `json:"hidden"`
		}
		if json.Unmarshal(p.config.References[name], &r) != nil || r.Path == "" || r.Description == "" || r.Hidden {
			continue
		}
		if rest, atHome := strings.CutPrefix(r.Path, "~/"); atHome {
			r.Path = filepath.Join(p.instructions.Home, rest)
		}
		if !filepath.IsAbs(r.Path) {
			r.Path = filepath.Join(cmp.Or(p.project.Worktree, p.project.Directory), r.Path)
		}
		out = append(out, instruction.Reference{Name: name, Path: r.Path, Description: r.Description})
	}
	return out
}
