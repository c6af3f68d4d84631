package admit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// completeSubtasks refuses incomplete subtasks, completes their files, and adds their bytes to size.
func completeSubtasks(p *session.Prompt, size *int) error {
	if err := p.CheckSubtasks("prompt"); err != nil {
		return err
	}
	p.Subtasks = slices.Clip(append([]session.Subtask(nil), p.Subtasks...)) // the caller's stay as they are
	for i := range p.Subtasks {
		t := &p.Subtasks[i]
		t.Prompt = strings.ToValidUTF8(t.Prompt, "\uFFFD")
		*size += len(t.Prompt) + len(t.Description) + len(t.Command)
		t.Files = append([]session.File(nil), t.Files...)
		if err := completeFiles(t.Files, size); err != nil {
			return err
		}
	}
	return nil
}

// subtaskFiles returns the files of all subtasks.
func subtaskFiles(p *session.Prompt) (files []session.File) {
	for _, t := range p.Subtasks {
		files = append(files, t.Files...)
	}
	return files
}

// fillSubtasks sets the agent of subtasks that name none, and the model of those of commands to that of the prompt.
func fillSubtasks(p *session.Prompt, agent string) {
	for i := range p.Subtasks {
		t := &p.Subtasks[i]
		if t.Agent = cmp.Or(t.Agent, agent); t.Command != "" {
			t.Model = cmp.Or(t.Model, p.Model)
		}
	}
}

// checkSubtasks refuses subtasks whose agent, model or files do not exist.
func checkSubtasks(scope *scope.Scope, subtasks []session.Subtask) error {
	for i, t := range subtasks {
		at := fmt.Sprintf("prompt.subtasks[%d]", i)
		if _, ok := scope.Agents[t.Agent]; !ok {
			nearest := scope.AgentNames(func(a session.Agent) bool { return !a.Hidden })
			return session.NotFound("agent", t.Agent, nearest...).At(at + ".agent")
		}
		err := scope.CheckSelection("", t.Model)
		if e, ok := errors.AsType[*session.Error](err); ok {
			return e.At(at + ".model")
		}
		if err != nil {
			return err
		}
		if err := checkFileURIs(t.Files); err != nil {
			return err
		}
	}
	return nil
}
