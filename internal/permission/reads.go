package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/shell"
)

// read is the action of what a command reads.
const read = "read"

// reading decides about the files that a command reads and that are not known before it runs. They are held against the
// rules for read: what is denied or asked about whatever it is, is so for the command; what may be, asks, unless a rule
// for commands that names the program allows this one. It returns nil when nothing stands against it.
func reading(layers []Layer, t target, d Decision) *Decision {
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

// Reach is a file that a command names, and the action that is to it.
type Reach struct{ Action, Path string }

// Reaches are the files that a command names as the shell sees them: what it may read, and what it writes or, where
// that is protected, may change.
func Reaches(command string) (out []Reach) {
	for _, p := range shell.Parse(command).Paths {
		switch {
		case !p.Whole || strings.HasPrefix(p.Name, "/dev/"):
		case p.Use == shell.Handed && Guarded(p.Name) != "":
			out = append(out, Reach{read, p.Name}, Reach{Edit, p.Name})
		case p.Use == shell.Read, p.Use == shell.Given, p.Use == shell.Handed:
			out = append(out, Reach{read, p.Name})
		case p.Use == shell.Write, p.Use == shell.Change && Guarded(p.Name) != "":
			out = append(out, Reach{Edit, p.Name})
		}
	}
	return out
}

// readTargets are the resources that words of a command may be, seen from where it may stand. Of an absolute path it is
// not known here what of it lies below the place: it may be any end of it.
func readTargets(words []string, seen Seen) (out []string) {
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

// namesProgram reports that the rule is about the program that the command begins with, and not about any.
func namesProgram(r *session.Rule, command string) bool {
	if r == nil {
		return false
	}
	name, _, _ := strings.Cut(command, " ")
	rest, ok := strings.CutPrefix(r.Resource, name)
	return ok && name != "" && (rest == "" || rest[0] == ' ' || rest[0] == '*') && strings.IndexByte(name, hole) < 0
}
