// Package retention decides which sessions are deleted because there are too many, they are too old or they take too much.
package retention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// Policy bounds the sessions of each project. A zero field is no bound.
type Policy struct {
	Age      time.Duration // since the last change
	Sessions int
	Bytes    int64
}

// IsZero reports whether the policy keeps everything.
func (p Policy) IsZero() bool { return p == Policy{} }

// String returns the bounds for people, "none" without one.
func (p Policy) String() string {
	var bounds []string
	if p.Age > 0 {
		bounds = append(bounds, formatAge(p.Age))
	}
	if p.Sessions > 0 {
		bounds = append(bounds, fmt.Sprintf("the newest %d", p.Sessions))
	}
	if p.Bytes > 0 {
		bounds = append(bounds, fmt.Sprintf("%.1f MiB of messages", float64(p.Bytes)/(1<<20)))
	}
	if len(bounds) == 0 {
		return "none"
	}
	return strings.Join(bounds, ", ") + " for each project"
}

// Tree is a session with its subagents, which are kept or deleted together.
type Tree struct {
	ID      string
	Project string
	Updated time.Time
	Bytes   int64 // of its messages; not needed without Policy.Bytes
	Keep    bool  // whatever the policy says; it still counts
}

// Choice is a tree to delete.
type Choice struct {
	Tree
	Reason string // for people
}

// Choose returns the trees to delete, the oldest first.
func Choose(trees []Tree, p Policy, now time.Time) (out []Choice) {
	// In each project, the newest are kept first.
	sorted := slices.SortedFunc(slices.Values(trees), func(a, b Tree) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
	type use struct {
		sessions int
		bytes    int64
	}
	kept := map[string]use{}
	for _, t := range sorted {
		u := kept[t.Project]
		reason := ""
		switch {
		case p.Age > 0 && now.Sub(t.Updated) > p.Age:
			reason = "not changed for " + formatAge(now.Sub(t.Updated))
		case p.Sessions > 0 && u.sessions >= p.Sessions:
			reason = "the project has " + terminal.FormatPlural(u.sessions, "newer session")
		case p.Bytes > 0 && u.bytes+t.Bytes > p.Bytes:
			reason = "the sessions of the project are too large"
		}
		if reason != "" && !t.Keep {
			out = append(out, Choice{t, reason})
			continue
		}
		kept[t.Project] = use{u.sessions + 1, u.bytes + t.Bytes}
	}
	slices.Reverse(out)
	return out
}

// formatAge returns an age in days, or if it is short in hours or less.
func formatAge(d time.Duration) string {
	if d < 48*time.Hour {
		return d.Truncate(time.Second).String()
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
