package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// TemplateRequest asks whether the template of a command may run shell lines and read files.
type TemplateRequest struct {
	SessionID session.ID // whose rules decide, and in which people are asked; with "" such a request is refused
	Location  session.Location
	Agent     string // "" is the session's, or the default
	Policy    session.AskPolicy
	Lines     []string
	Files     []string // absolute paths
}

// AuthorizeTemplate decides about each line as about a command of the agent, and about each file as about a read. It
// returns nil, or a *session.Error of code denied, or the cause for which ctx ended. If the agent plans, readOnly tells
// that the lines may write temporary files only.
func (a *Asks) AuthorizeTemplate(ctx context.Context, q TemplateRequest) (readOnly bool, err error) {
	policy, err := ParsePolicy(q.Policy)
	if err != nil {
		return false, err
	}
	s := &session.Session{Location: q.Location}
	if q.SessionID != "" {
		if s, err = a.journal.ReadSession(ctx, q.SessionID); err != nil {
			return false, err
		}
	}
	scope, release, err := scope.Open(ctx, a.locations, s)
	if err != nil {
		return false, err
	}
	defer release()
	if q.SessionID == "" {
		s.ProjectID, s.Location, policy.Kind = scope.ProjectID, scope.Location, PolicyFail
	}

	// Collect the rules. A caller without the scope approve gets no rights that people gave the session.
	restricted := caller.FromContext(ctx).Role < caller.Approve
	if restricted {
		s.RemoveGrants()
	}
	agent := scope.FindAgent(cmp.Or(q.Agent, s.Agent))
	layers, err := a.CollectRules(ctx, scope, s, agent)
	if err != nil {
		return false, err
	}
	by := Asker{
		SessionID: q.SessionID, RecordID: scope.RecordID, Agent: agent.ID, Layers: layers, Policy: policy.forEngine(),
		Restricted: restricted,
		Yield:      func(string) func(context.Context) { return func(context.Context) {} },
	}
	for _, r := range listTemplateRequests(scope, q) {
		if err := a.authorizeTemplate(ctx, by, r); err != nil {
			return false, err
		}
	}
	return agent.ID == session.AgentPlan, nil
}

func listTemplateRequests(scope *scope.Scope, q TemplateRequest) (out []tool.Request) {
	for _, line := range q.Lines {
		out = append(out, listRequests(scope, permission.Shell, line)...)
	}
	for _, path := range q.Files {
		out = append(out, listRequests(scope, "read", path)...)
	}
	return out
}

func (a *Asks) authorizeTemplate(ctx context.Context, by Asker, r tool.Request) error {
	if by.SessionID == "" {
		saved, err := a.readApprovals(ctx, by.RecordID, "")
		if err != nil {
			return err
		}
		d := permission.EvaluateAll(
			by.Layers, saved, permission.Subject{
				Action: r.Action, Resources: slices.Concat(r.Resources, r.Hidden), Command: r.Command,
			},
		)
		if d.Effect == session.Ask {
			return session.Errorf(session.CodeDenied, "it needs permission for %s %v, and no session was named to ask in",
				r.Action, r.Resources)
		}
		if d.Effect == session.Allow {
			return nil
		}
		return deniedTemplate(&tool.Denial{Action: r.Action, Resources: r.Resources, Rule: d.Rule, Reason: d.Reason})
	}
	err := a.Authorize(ctx, by, r)
	if denial, ok := errors.AsType[*tool.Denial](err); ok {
		return deniedTemplate(denial)
	}
	return err
}

func deniedTemplate(d *tool.Denial) error {
	if d.Rule == nil && !d.ByPolicy {
		text := fmt.Sprintf("permission for %s %v was rejected", d.Action, d.Resources)
		if d.Feedback != "" {
			text += ": " + d.Feedback
		}
		return session.Errorf(session.CodeDenied, "%s", text)
	}
	return session.Errorf(session.CodeDenied, "%s", d.Error())
}
