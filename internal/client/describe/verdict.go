package describe

import (
	"cmp"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// DescribeVerdict returns which rule asks for a permission, "" if none of the parts does.
func DescribeVerdict(v api.Verdict) string {
	for _, p := range v.Parts {
		switch {
		case p.Effect != session.Ask:
		case p.Rule == nil:
			return cmp.Or(p.Reason, "default: no rule decides "+terminal.FirstLine(p.Resource, 80))
		default:
			text := "the rule " + p.Rule.Action + " " + p.Rule.Resource + " " + cmp.Or(p.Source, p.Layer)
			return terminal.FirstLine(strings.TrimSpace(text), 200)
		}
	}
	return ""
}
