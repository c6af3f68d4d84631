package permission

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cairn-dev/cairn/internal/session"
)

// Edit is the action whose resources are files that shall change.
const Edit = "edit"

// Protected are files that start programs, or say what may be done, later and without asking: git's hooks and settings,
// our own configuration, what shells and desktops run when they start.
const Protected = "protected"

const protectedSource = "built-in: what is written here may run or be obeyed later; a rule that spells its name decides"

// guardedNames are directories and files that are protected anywhere; a name with a slash only where it is outside of
// the place, as the end or the middle of a path.
var (
	guardedDirs    = []string{".git", ".cairn", ".opencode"}
	guardedFiles   = []string{"cairn.json", "cairn.jsonc", "opencode.json", "opencode.jsonc"}
	guardedOutside = []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
		".zprofile", ".zlogin",
		".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
		".pam_environment",
		".gitconfig", ".ssh", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d",
		".config/cairn",
		".config/opencode", ".local/share/cairn", ".local/share/opencode", ".local/state/cairn", "/etc",
	}
)

// Guarded returns the protected name that a path bears, "" if it bears none. Letters are compared as file systems do
// that care least about them; a * in a name stands for what is not known of it.
func Guarded(path string) string {
	path = plainPath(path)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, p := range parts {
		if name := bears(p, guardedDirs); name != "" {
			return name
		}
	}
	if name := bears(parts[len(parts)-1], guardedFiles); name != "" {
		return name
	}
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "~") {
		return ""
	}
	for _, name := range guardedOutside {
		if strings.HasPrefix(name, "/") && strings.HasPrefix(path+"/", name+"/") ||
			!strings.HasPrefix(name, "/") && strings.Contains(path+"/", "/"+name+"/") {
			return name
		}
	}
	return ""
}

// bears returns which of the names one part of a path is, or may be.
func bears(part string, names []string) string {
	if part == "git~1" { // its short name on Windows
		part = ".git"
	}
	if strings.Trim(part, "*") == "" {
		return ""
	}
	i := slices.IndexFunc(
		names, func(name string) bool { return part == name || strings.Contains(part, "*") && Match(part, name) },
	)
	if i < 0 {
		return ""
	}
	return names[i]
}

// plainPath is the path in small letters, without those that do not show and without dots and blanks at the end of
// names, which some file systems take no notice of.
func plainPath(path string) string {
	path = strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(path, `\`, "/")))
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if trimmed := strings.TrimRight(p, ". "); trimmed != "" {
			parts[i] = trimmed
		}
	}
	return strings.Join(parts, "/")
}

// guard is the ask that stands before a change of a protected file, nil if the target is none.
func guard(action string, t target) *Decision {
	if action != Edit {
		return nil
	}
	name := Guarded(t.text)
	if name == "" {
		return nil
	}
	return asksFor(name, t)
}

// asksFor is the ask about a change of what bears the protected name.
func asksFor(name string, t target) *Decision {
	r := session.Rule{Action: Edit, Resource: name, Effect: session.Ask}
	return &Decision{
		Effect: session.Ask, Rule: &r, Layer: Protected, Source: protectedSource, Resource: t.text, Possible: t.anywhere,
	}
}

// spells reports that the rule means what bears the protected name: the name stands in its pattern.
func spells(r *session.Rule, guard *Decision) bool {
	return r != nil && strings.Contains(plainPath(r.Resource), guard.Rule.Resource)
}
