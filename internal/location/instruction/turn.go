package instruction

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// Keys of the sources that depend on the session and its turn.
const (
	KeyMode       = "core/mode"
	KeyReferences = "core/reference-guidance"
	KeyShared     = "core/shared-files"
	entryPrefix   = "entry/"
)

// PlanPath returns the file of a session's plan: in the project, or in the directory of plans outside of a repository.
func PlanPath(s *session.Session, worktree, plans string) string {
	dir := plans
	if worktree != "" {
		dir = filepath.Join(worktree, ".opencode", "plans")
	}
	return filepath.Join(dir, fmt.Sprintf("%d-%s.md", s.Time.Created, s.Slug))
}

// mode is the value of the source of modes.
type mode struct {
	Agent string `json:"agent"`
	Plan  string `json:"plan"`
}

// ModeContext returns the source of the mode: while an agent plans, where the plan is written, and afterwards that the
// plan may be carried out. It is empty for sessions that never planned.
func ModeContext(agent, plan string) systemcontext.Context {
	if agent != session.AgentPlan {
		return nil
	}
	return systemcontext.Context{systemcontext.Make(systemcontext.Spec[mode]{
		Key: KeyMode, Value: mode{agent, plan},
		Baseline: renderMode,
		Update:   func(_, m mode) string { return renderMode(m) },
		Removal: func(m mode) string {
			return "The mode has changed from planning to work: files may be changed and commands may be run again, as " +
				"the rules allow. If " + m.Plan + " exists, it is the plan to carry out."
		},
	})}
}

func renderMode(m mode) string {
	return "You are planning. Change nothing: no edits, no commits, no commands that change anything, whatever other " +
		"instructions say. Read, think, ask, and propose a plan. The only file that you may write is the plan, " +
		m.Plan + "; if it exists, read it first and improve it. Commands can write temporary files only. When the plan " +
		"is complete, call plan_exit if there is that tool."
}

// EntryContext returns the sources of the entries that clients have set, one each.
func EntryContext(entries []session.ContextEntry) (c systemcontext.Context) {
	for _, e := range entries {
		if e.Key == session.KeySharedFiles {
			continue
		}
		about := "The client's context " + strconv.Quote(e.Key)
		c = append(c, systemcontext.Make(systemcontext.Spec[jsontext.Value]{
			Key: entryPrefix + e.Key, Value: e.Value,
			Baseline: func(v jsontext.Value) string { return about + ":\n" + entryText(v) },
			Update:   func(_, v jsontext.Value) string { return about + " is now:\n" + entryText(v) },
			Removal:  func(jsontext.Value) string { return about + " no longer applies." },
		}))
	}
	return c
}

// SharedContext returns the source of the files that other sessions have changed as well. It is empty without any.
func SharedContext(entries []session.ContextEntry) systemcontext.Context {
	list := session.ReadSharedFiles(entries)
	if len(list) == 0 {
		return nil
	}
	render := func(list []session.SharedFiles) string {
		lines := []string{"Other sessions of this project have changed files that you have changed as well. Their work may " +
			"have to be merged with yours: read such a file again before you change it, keep your changes to it small, " +
			"and tell the user that both changed it:"}
		for _, f := range list {
			lines = append(lines, "- "+f.String())
		}
		return strings.Join(lines, "\n")
	}
	return systemcontext.Context{systemcontext.Make(systemcontext.Spec[[]session.SharedFiles]{
		Key: KeyShared, Value: list,
		Baseline: render,
		Update:   func(_, l []session.SharedFiles) string { return render(l) },
		Removal: func([]session.SharedFiles) string {
			return "That other sessions changed the same files no longer matters."
		},
	})}
}

// entryText returns a text as it is, and any other value as JSON.
func entryText(v jsontext.Value) string {
	if text, err := jsontext.AppendUnquote(nil, v); err == nil {
		return string(text)
	}
	return v.String()
}

// Reference is a directory that the configuration names for agents.
type Reference struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description"`
}

// ReferenceContext returns the source of the references with a description, sorted by name. It is empty if there are
// none.
func ReferenceContext(list []Reference) systemcontext.Context {
	if len(list) == 0 {
		return nil
	}
	return systemcontext.Context{systemcontext.Make(systemcontext.Spec[[]Reference]{
		Key: KeyReferences, Value: list,
		Baseline: func(l []Reference) string {
			return "These directories hold further material. Look there when a task is about what is described:\n" +
				formatReferences(l)
		},
		Update: func(_, l []Reference) string {
			return "The directories with further material have changed. These, and no others, count now:\n" +
				formatReferences(l)
		},
		Removal: func([]Reference) string { return "There are no directories with further material any more." },
	})}
}

func formatReferences(list []Reference) string {
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = "- " + r.Name + " (" + r.Path + "): " + r.Description
	}
	return strings.Join(lines, "\n")
}
