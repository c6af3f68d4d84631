package skill

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// Key is the key of the source.
const Key = "core/skill-guidance"

// action is the permission to load a skill; the resource is its name.
const action = "skill"

// listEntry is the entry of a skill in the system context.
type listEntry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Context returns the source that lists the skills which an agent may load under the rules: those that have a
// description and are not denied. It is empty without such skills.
func Context(f Set, layers []permission.Layer) systemcontext.Context {
	var list []listEntry
	for _, s := range f.Skills {
		if s.Description != "" && permission.Evaluate(layers, nil, action, s.Name).Effect != session.Deny {
			list = append(list, listEntry{s.Name, s.Description})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return systemcontext.Context{systemcontext.Make(systemcontext.Spec[[]listEntry]{
		Key:   Key,
		Value: list,
		Baseline: func(l []listEntry) string {
			return "Skills hold instructions for special tasks. When one fits what you are asked to do, load it " +
				"with the tool skill before you begin. There are:\n" + formatList(l)
		},
		Update: func(_, l []listEntry) string {
			return "The skills have changed. These, and no others, can be loaded now:\n" + formatList(l)
		},
		Removal: func([]listEntry) string { return "There are no skills any more." },
	})}
}

func formatList(list []listEntry) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("- " + s.Name + ": " + s.Description + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
