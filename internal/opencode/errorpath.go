package opencode

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// PartField names a member of part i as clients send it: parts[0].url.
func PartField(i int, member string) string { return fmt.Sprintf("parts[%d].%s", i, member) }

// TranslateErrorPath rewrites the field of an error about a prompt to the path in the client's request, because
// session.Prompt keeps files and agents in lists of their own. name returns the path of a member of the prompt's part
// i.
func TranslateErrorPath(err error, p session.Prompt, name func(i int, member string) string) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok {
		return err
	}
	field, ours := strings.CutPrefix(e.Field, "prompt")
	if !ours || field != "" && field[0] != '.' {
		return err
	}
	placed := *e
	placed.Field = clientPath(strings.TrimPrefix(field, "."), p, name)
	placed.Message = strings.ReplaceAll(e.Message, e.Field+" ", placed.Field+" ")
	return &placed
}

// clientPath returns the path of a prompt's field in the client's request.
func clientPath(field string, p session.Prompt, name func(i int, member string) string) string {
	var index int
	var member string
	// of names a member of the part that put the value into the prompt.
	of := func(kind session.PartType, member string) string {
		for i, part := range p.Parts {
			if part.Type == kind && (kind == session.PartText || part.Index == index) {
				return name(i, member)
			}
		}
		return "parts"
	}
	// The path of a prompt is list[index].member.
	list, rest, _ := strings.Cut(field, "[")
	_, _ = fmt.Sscanf(rest, "%d].%s", &index, &member) // without an index both stay 0, the first part
	switch list {
	case "text":
		return of(session.PartText, "text")
	case "files":
		return of(session.PartFile, "url")
	case "agents":
		return of(session.PartAgent, "name")
	case "subtasks":
		return of(session.PartSubtask, member)
	case "parts":
		return name(index, member)
	case "format.retries":
		return "format.retryCount"
	case "":
		return "parts"
	default:
		return field
	}
}
