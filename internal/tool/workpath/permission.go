package workpath

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/tool"
)

// AskOutside asks for the directory of a path outside of the Location, and for nothing inside of it.
func (p Path) AskOutside(ctx context.Context, call tool.Call) error {
	return AskAll(ctx, call, p.OutsideRequests())
}

// OutsideRequests returns the permission request for a path outside of the Location; none for one inside.
func (p Path) OutsideRequests() []tool.Request {
	if p.IsInside() {
		return nil
	}
	dir := p.Dir()
	return []tool.Request{{
		Action:    "external_directory",
		Resources: []string{dir + "/*"},
		Save:      []string{permission.Escape(dir) + "/*"},
		Metadata:  tool.EncodeObject(map[string]string{"filepath": p.Real, "parentDir": dir}),
	}}
}

// AskAll asks for the requests one after another, until one is refused.
func AskAll(ctx context.Context, call tool.Call, requests []tool.Request) error {
	for _, r := range requests {
		if err := call.Ask(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// IsRuleDenial reports whether err is a refusal by a rule, or for want of a person to ask, rather than by a person.
func IsRuleDenial(err error) bool {
	d, ok := errors.AsType[*tool.Denial](err)
	return ok && !d.Stop && d.Feedback == ""
}
