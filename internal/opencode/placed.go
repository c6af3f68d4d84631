package opencode

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// InParts names a member of a prompt's part i as it is sent: parts[0].url.
func InParts(i int, member string) string { return fmt.Sprintf("parts[%d].%s", i, member) }

// Placed says of an error about the prompt what the client sent that it is about: our record names files and agents by
// lists of their own. Name is the place of a member of the part i of the prompt.
func Placed(err error, p session.Prompt, name func(i int, member string) string) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok {
		return err
	}
	field, ours := strings.CutPrefix(e.Field, "prompt")
	if !ours || field != "" && field[0] != '.' {
		return err
	}
	placed := *e
	placed.Field = sent(strings.TrimPrefix(field, "."), p, name)
	placed.Message = strings.ReplaceAll(e.Message, e.Field+" ", placed.Field+" ")
	return &placed
}

// sent is the place of a field of a prompt.
func sent(field string, p session.Prompt, name func(i int, member string) string) string {
	var index int
	var member string
	of := func(kind session.PartType, member string) string {
		for i, part := range p.Parts {
			if part.Type == kind && (kind == session.PartText || part.Index == index) {
				return name(i, member)
			}
		}
		return "parts"
	}
	list, rest, _ := strings.Cut(field, "[")
	_, _ = fmt.Sscanf(rest, "%d].%s", &index, &member) // without an index it is the first
	switch list {
	case "text":
		return of(session.PartText, "text")
	case "files":
		return of(session.PartFile, "url")
	case "agents":
		return of(session.PartAgent, "name")
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
