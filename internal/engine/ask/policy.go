package ask

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// PolicyKind says how asks are answered in a run.
type PolicyKind string

// The kinds of policies. A prompt sets all but the last one.
const (
	PolicyInteractive PolicyKind = ""           // people reply
	PolicyDeny        PolicyKind = "deny"       // reject, and the work goes on
	PolicyAllow       PolicyKind = "allow"      // allow once, but reject what only a person may allow
	PolicyEdits       PolicyKind = "edits"      // allow changes of files that are not protected; people reply to all else
	PolicyFail        PolicyKind = "fail"       // reject, and the work stops
	PolicyWait        PolicyKind = "wait"       // people reply within a time, else reject
	PolicyUnattended  PolicyKind = "unattended" // reject a question: the model decides for itself
)

// Policy is a parsed session.AskPolicy.
type Policy struct {
	Kind PolicyKind
	Wait time.Duration // with PolicyWait
}

// ParsePolicy parses the ask policy of a prompt. An error is a *session.Error at the field asks.
func ParsePolicy(p session.AskPolicy) (Policy, error) {
	switch kind := PolicyKind(p); kind {
	case PolicyInteractive, PolicyDeny, PolicyAllow, PolicyEdits, PolicyFail:
		return Policy{Kind: kind}, nil
	}
	if wait, ok := strings.CutPrefix(string(p), "wait:"); ok {
		if d, err := time.ParseDuration(wait); err == nil && d > 0 {
			return Policy{PolicyWait, d}, nil
		}
		if n, err := strconv.Atoi(wait); err == nil && n > 0 {
			return Policy{PolicyWait, time.Duration(n) * time.Second}, nil
		}
	}
	return Policy{}, session.Errorf(session.CodeInvalid,
		"the ask policy must be deny, allow, edits, fail or wait:DURATION (like wait:30s), got %q", p).At("asks")
}

// reply returns the policy's own answer, "" if people must be asked. No policy allows what only a person may allow.
func (p Policy) reply(a session.PendingAsk) (session.Reply, string) {
	switch p.Kind {
	case PolicyAllow:
		if a.Firm {
			return session.ReplyReject, "only a person may allow this, so --ask=allow does not apply; continue without it"
		}
		return session.ReplyOnce, ""
	case PolicyEdits:
		// A person decides about files that start programs or grant rights.
		isProtected := slices.ContainsFunc(a.Resources, func(r string) bool { return permission.ProtectedName(r) != "" })
		if a.Action == permission.Edit && !a.Firm && !isProtected {
			return session.ReplyOnce, ""
		}
		return "", ""
	case PolicyDeny:
		return session.ReplyReject,
			"asks are denied in this run (--ask=deny); go on without it, or say what you would need"
	case PolicyUnattended:
		return session.ReplyReject,
			"no user can answer in this run; decide for yourself, and state what you assumed"
	case PolicyFail:
		return session.ReplyReject, ""
	default:
		return "", ""
	}
}

// forEngine returns the policy for asks of the engine itself: the work cannot go on without them, so deny is fail.
func (p Policy) forEngine() Policy {
	if p.Kind == PolicyDeny {
		p.Kind = PolicyFail
	}
	return p
}

// forBudget returns the policy for budget asks: budgets protect unattended runs, so allow does not lift them.
func (p Policy) forBudget() Policy {
	if p = p.forEngine(); p.Kind == PolicyAllow {
		p.Kind = PolicyFail
	}
	return p
}

// forQuestion returns the policy for questions, which no policy can answer: the model decides unless the work stops.
func (p Policy) forQuestion() Policy {
	if p.Kind == PolicyAllow || p.Kind == PolicyDeny {
		p.Kind = PolicyUnattended
	}
	return p
}
