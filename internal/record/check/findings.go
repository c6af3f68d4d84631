package check

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// readTime bounds how long Examine reads the store. Run reads all of it.
const readTime = 3 * time.Second

// Examine checks as much of the store as it can read within readTime.
func Examine(ctx context.Context, s store.Store) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	report, err := Run(ctx, s)
	for _, v := range report.Violations {
		if v.Invariant == Readable {
			return []finding.Finding{DamageFinding(describeViolation(v))}
		}
	}
	switch {
	case len(report.Violations) > 0:
		v := report.Violations[0]
		return []finding.Finding{{
			Level: finding.Error, What: "store", Detail: describeViolation(v), Fix: "run cairn fsck to list all violations",
		}}
	case err != nil && ctx.Err() != nil:
		return []finding.Finding{{
			Level: finding.Note, What: "store", Detail: "the first part is valid; run cairn fsck to check all of it",
		}}
	case err != nil:
		return []finding.Finding{DamageFinding(err.Error())}
	default:
		detail := fmt.Sprintf("%d sessions can be read", report.Sessions)
		return []finding.Finding{{Level: finding.OK, What: "store", Detail: detail}}
	}
}

// describeViolation names the session, if it is of one, and what is wrong.
func describeViolation(v Violation) string {
	if v.SessionID == "" {
		return v.Detail
	}
	return "session " + string(v.SessionID) + ": " + v.Detail
}

// SalvageFix says what to do with a store that is damaged.
const SalvageFix = "cairn salvage DIR copies what can be read into a new home; " +
	"backups made before migrations are in the folder backup of the data"

// DamageFinding reports a store that cannot be used as it is.
func DamageFinding(detail string) finding.Finding {
	return finding.Finding{Level: finding.Error, What: "store", Detail: detail, Fix: SalvageFix}
}

// UncheckedFindings reports why it is unknown whether the store is complete, if it is.
func UncheckedFindings(why string) []finding.Finding {
	if why == "" {
		return nil
	}
	return []finding.Finding{{Level: finding.Warning, What: "store", Detail: why}}
}

// ListFindings returns what the report of a whole store says. dir is the folder of the store, which a report needs.
func (r Report) ListFindings(dir string) []finding.Finding {
	found := []finding.Finding{{
		Level: finding.OK, What: "log", Detail: fmt.Sprintf("%d sessions, %d events read", r.Sessions, r.Events),
	}}
	for _, v := range r.Violations {
		f := finding.Finding{
			Level: finding.Error, What: strings.TrimSpace("session " + string(v.SessionID)), Detail: v.Detail,
			Fix: "keep a copy of " + dir + " and report it",
		}
		switch v.Invariant {
		case Readable:
			f.Fix = SalvageFix
		case Parent, Resting:
			f.Fix = "run cairn fsck --repair while no other cairn works; if this stays, " + f.Fix
		}
		found = append(found, f)
	}
	return found
}
