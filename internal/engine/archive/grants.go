package archive

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// dropGrants removes from an event what would let work run here without asks: rules that allow, the openness of a
// session to actions without a rule, and policies that answer asks with yes. It reports whether the event had one. An
// event without them stays as it is, byte for byte.
func dropGrants(row store.EventRow) (out store.EventRow, dropped bool, err error) {
	if !mayGrant(row.Kind) {
		return row, false, nil
	}
	e, err := eventlog.Decode(row)
	if err != nil || !dropFrom(e.Data) {
		return row, false, err
	}
	out, err = eventlog.Encode(e)
	out.Private = row.Private
	return out, true, err
}

// mayGrant reports whether events of the kind can have grants. dropFrom has a case for each.
func mayGrant(k session.Kind) bool {
	switch k {
	case session.KindCreated, session.KindPermissionSet, session.KindPromptAdmitted, session.KindPrompted,
		session.KindJobStarted:
		return true
	default:
		return false
	}
}

// dropFrom removes the grants of the payload and reports whether it had some.
func dropFrom(d session.EventData) bool {
	switch d := d.(type) {
	case *session.Created:
		jobs := false
		for i := range d.Info.Jobs {
			jobs = dropPolicy(&d.Info.Jobs[i]) || jobs
		}
		isGrant := d.Info.Open || d.Info.Contract != "" || slices.ContainsFunc(d.Info.Permission, allows)
		if isGrant {
			d.Info.RemoveGrants()
			d.Info.Contract = ""
		}
		return isGrant || jobs
	case *session.PermissionSet:
		before := len(d.Rules)
		d.Rules = slices.DeleteFunc(d.Rules, allows)
		return len(d.Rules) < before
	case *session.PromptAdmitted:
		return clearPolicy(&d.Asks)
	case *session.Prompted:
		return clearPolicy(&d.Asks)
	case *session.JobStarted:
		return dropPolicy(&d.Job)
	default:
		return false
	}
}

func allows(r session.Rule) bool { return r.Effect == session.Allow }

// clearPolicy removes a policy that allows.
func clearPolicy(p *session.AskPolicy) bool {
	if !p.Allows() {
		return false
	}
	*p = ""
	return true
}

// dropPolicy removes the policy of a task.
func dropPolicy(j *session.Job) bool { return j.Task != nil && clearPolicy(&j.Task.Asks) }
