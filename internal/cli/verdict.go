package cli

import (
	"cmp"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// DescribeVerdict returns which rule asks for a permission, "" if none of the parts does.
func DescribeVerdict(v api.Verdict) string {
	for _, p := range v.Parts {
		switch {
		case p.Effect != session.Ask:
		case p.Rule == nil:
			return cmp.Or(p.Reason, "default: no rule decides "+term.FirstLine(p.Resource, 80))
		default:
			text := "the rule " + p.Rule.Action + " " + p.Rule.Resource + " " + cmp.Or(p.Source, p.Layer)
			return term.FirstLine(strings.TrimSpace(text), 200)
		}
	}
	return ""
}
