package checkout

import (
	"path/filepath"
	"strings"
)

// Setting is an entry of a settings file of git.
type Setting struct {
	Name  string // section.name in lower case, without a subsection, such as core.hookspath
	Value string
}

// ParseSettings returns the entries of a settings file of git that have a value, as far as it can be read.
func ParseSettings(text string) (found []Setting) {
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			head, after, _ := cutHeader(rest)
			section, _, _ = strings.Cut(strings.ToLower(head), " ")
			section, _, _ = strings.Cut(section, ".")
			line = strings.TrimSpace(after)
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); ok && name != "" && name[0] != '#' && name[0] != ';' {
			found = append(found, Setting{section + "." + name, unquoteValue(value)})
		}
	}
	return found
}

// ReadOrigin returns the address of the remote "origin" as the repository's settings have it, "" without one.
func (c Checkout) ReadOrigin() string {
	inOrigin := false
	for line := range strings.Lines(c.ReadSettings()) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			head, _, _ := cutHeader(rest)
			section, name, _ := strings.Cut(head, " ")
			inOrigin = strings.EqualFold(section, "remote") && strings.TrimSpace(name) == `"origin"`
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && inOrigin && strings.EqualFold(strings.TrimSpace(name), "url") {
			return unquoteValue(value)
		}
	}
	return ""
}

// cutHeader cuts a section's header after its bracket, which may stand in a quoted subsection as well.
func cutHeader(s string) (head, after string, ok bool) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ']' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// unquoteValue returns a value without quotes, escapes and a comment.
func unquoteValue(s string) string {
	var out strings.Builder
	quoted := false
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			out.WriteByte(s[i])
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// MaxTargets bounds the result of ListSettingTargets, and the settings files that it reads.
const MaxTargets = 16

// ListSettingTargets returns the directories of hooks and the further settings files that are named by the settings of
// the repository, by those below the home directory, or by such a file. Some may lie outside of the working tree.
func (c Checkout) ListSettingTargets(home string) (found []string) {
	// Begin with the settings files of the repository and of the user.
	queue := []string{filepath.Join(c.Common, "config"), filepath.Join(c.GitDir, "config.worktree")}
	if home != "" {
		queue = append(queue, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"))
	}
	// Read the queue, which grows by the files that these include.
	for i := 0; i < len(queue) && i < MaxTargets; i++ {
		for _, s := range ParseSettings(ReadStart(queue[i])) {
			// A hooks path is relative to the working tree, an included file to the file that names it.
			base := filepath.Dir(queue[i])
			switch s.Name {
			case "core.hookspath":
				base = c.Top
			case "include.path", "includeif.path":
			default:
				continue
			}
			// Expand the home directory, and follow includes only.
			target := s.Value
			if rest, atHome := strings.CutPrefix(target, "~/"); atHome {
				target = filepath.Join(home, rest)
			}
			target = MakeAbsolute(target, base)
			if s.Name != "core.hookspath" {
				queue = append(queue, target)
			}
			if len(found) < MaxTargets {
				found = append(found, target)
			}
		}
	}
	return found
}
