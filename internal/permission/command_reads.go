package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
)

// read is the action of reading a file.
const read = "read"

// decideReads decides about the files that a command reads and that are unknown before it runs. A file that rules for read
// certainly deny or ask for is decided so; one that they may deny or ask for asks, unless a rule that names the program
// allows the command. It returns nil if no rule stands against the command.
func decideReads(layers []Layer, t target, d Decision) *Decision {
	var worst *Decision
	for _, file := range t.reads {
		own := decide(layers, nil, read, target{text: file, open: true})
		switch name, _, _ := strings.Cut(t.text, " "); {
		case own.Effect == session.Allow, own.Rule == nil && strings.IndexByte(name, hole) >= 0:
			continue
		case own.Possible && d.Effect == session.Allow && namesProgram(d.Rule, t.text), own.Possible &&
			d.Effect != session.Allow && !own.Firm:
			continue
		}
		own.Resource = t.text
		if worst == nil || own.rank() > worst.rank() {
			worst = &own
		}
	}
	if worst == nil || worst.rank() <= d.rank() {
		return nil
	}
	return worst
}

// Reach is a file that a command names, and the action on it.
type Reach struct{ Action, Path string }

// Reaches returns the files that a command names as the shell sees them: those that it may read, and those that it
// writes or, if they are protected, may change.
func Reaches(command string) (out []Reach) {
	for _, p := range shell.ParseScript(command).Paths {
		switch {
		case !p.Whole || strings.HasPrefix(p.Name, "/dev/"):
		case p.Use == shell.Handed && ProtectedName(p.Name) != "":
			out = append(out, Reach{read, p.Name}, Reach{Edit, p.Name})
		case p.Use == shell.Read, p.Use == shell.Given, p.Use == shell.Handed:
			out = append(out, Reach{read, p.Name})
		case p.Use == shell.Write, p.Use == shell.Change && ProtectedName(p.Name) != "":
			out = append(out, Reach{Edit, p.Name})
		}
	}
	return out
}

// readTargets returns the resources that words of a command may stand for, from its possible working directories. Which
// part of an absolute path is below the Location is unknown here, so every suffix of it counts.
func readTargets(words []string, seen CommandContext) (out []string) {
	from := seen.From
	if len(from) == 0 {
		from = []string{"."}
	}
	for _, word := range words {
		if slices.Contains(seen.Known, word) {
			continue
		}
		if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") {
			out = append(out, ends(word)...)
			continue
		}
		for _, dir := range from {
			out = append(out, path.Join(dir, word))
		}
	}
	return out
}

func ends(word string) []string {
	clean := path.Clean(word)
	out := []string{clean}
	for _, rest, more := strings.Cut(clean, "/"); more; _, rest, more = strings.Cut(rest, "/") {
		out = append(out, rest)
	}
	return out
}

// namesProgram reports whether the rule names the program that the command begins with.
func namesProgram(r *session.Rule, command string) bool {
	if r == nil {
		return false
	}
	name, _, _ := strings.Cut(command, " ")
	rest, ok := strings.CutPrefix(r.Resource, name)
	return ok && name != "" && (rest == "" || rest[0] == ' ' || rest[0] == '*') && strings.IndexByte(name, hole) < 0
}
