package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// ExplainInstruction implements v2.Explainer.
func (l *locationCache) ExplainInstruction(
	ctx context.Context, at session.Location, file string,
) (v api.InstructionVerdict, err error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return v, err
	}
	if !strings.Contains(file, "://") {
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.project.Directory, file)
		}
		file = filepath.Clean(file)
	}
	// Ask the reader of instruction files first, then what else the file may be for.
	found := l.instructionOptions(p.config, p.project).Explain(ctx, file)
	v = api.InstructionVerdict{
		Path: file, Included: found.Key != "", Source: found.Key, Rule: found.Rule, Reason: found.Reason,
		Bytes: found.Bytes, Files: append([]string{}, found.Files...),
	}
	if v.Included || v.Rule != "" {
		return v, nil
	}
	if use := describeUse(p, file); use != "" {
		v.Reason = use
		return v, nil
	}
	untrusted := !p.config.Trusted && p.config.Claim != nil &&
		slices.ContainsFunc(
			p.config.Claim.Files,
			func(f trust.File) bool { return slices.Contains(f.Why, "instructions") },
		)
	if untrusted {
		v.Reason += "; the project is not trusted, so its setting instructions does not count (cairn trust)"
	}
	return v, nil
}

// describeUse says what a file that is no instruction file is used for: a skill, an agent or another setting, or a
// reference. It is "" for any other file.
func describeUse(p *locationSetup, file string) string {
	for _, s := range p.skills.Find().Skills {
		if s.Location == file {
			return fmt.Sprintf("it is the skill %s: the context has its name and description; "+
				"the agent loads its text with the tool skill", s.Name)
		}
	}
	for _, o := range p.config.Explain("") {
		if o.Source.File != file {
			continue
		}
		if name, ok := strings.CutPrefix(o.Key, "agent."); ok {
			if name, ok = strings.CutSuffix(name, ".prompt"); ok {
				return fmt.Sprintf("it is the prompt of the agent %s: requests of that agent begin with it", name)
			}
			continue
		}
		return "it is read as configuration: cairn config explain shows its settings"
	}
	for _, r := range listReferences(p) {
		if rel, err := filepath.Rel(r.Path, file); err == nil && filepath.IsLocal(rel) {
			return fmt.Sprintf("it belongs to the reference %s: the context has the reference's path and description; "+
				"the agent reads the file when it needs it", r.Name)
		}
	}
	return ""
}
