// Package task implements the tool that hands work to subagents.
package task

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed task.md
var description string

const schema = `{"type":"object","properties":{
"description":{"type":"string","minLength":1,"maxLength":200,"description":"The task in three to five words"},
"prompt":{"type":"string","minLength":1,"description":"The task, with all that the subagent needs to know"},
"subagent_type":{"type":"string","minLength":1,"description":"The name of the subagent"},
"task_id":{"type":"string","description":"Continues an earlier task: the id from its result"},
"command":{"type":"string","description":"The command that led to this task"},
"background":{"type":"boolean","description":"Go on at once; the report comes by itself, as a message"}
},"required":["description","prompt","subagent_type"],"additionalProperties":false}`

// taskTool is the tool task of a location.
type taskTool struct {
	agents     []session.Agent // that may be subagents, sorted by name
	definition tool.Definition
}

// New returns the tool, which offers the agents that may be subagents and are not hidden. Without any it returns none.
func New(agents []session.Agent) []tool.Tool {
	offered := slices.DeleteFunc(slices.Clone(agents), func(a session.Agent) bool {
		return a.Mode == session.ModePrimary || a.Hidden
	})
	if len(offered) == 0 {
		return nil
	}
	slices.SortFunc(offered, func(a, b session.Agent) int { return strings.Compare(a.ID, b.ID) })
	var b strings.Builder
	b.WriteString(strings.TrimSpace(description) + "\n\nThe subagents:")
	for _, a := range offered {
		about := a.Description
		if about == "" {
			about = "The user's own; call it only if they name it."
		}
		b.WriteString("\n- " + a.ID + ": " + about)
	}
	return []tool.Tool{&taskTool{agents: offered, definition: tool.Definition{
		Name: tool.NameTask, Description: b.String(), Schema: jsontext.Value(schema),
	}}}
}

// Definition describes the tool.
func (t *taskTool) Definition() tool.Definition { return t.definition }

// Run asks for permission, has the work done in a child session, and returns its report.
func (t *taskTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[struct {
		Description string     `json:"description"`
		Prompt      string     `json:"prompt"`
		Agent       string     `json:"subagent_type"`
		Continue    session.ID `json:"task_id"`
		Background  bool       `json:"background"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	if call.Tasks == nil {
		return tool.Output{}, tool.Failf("Subagents are not available in this session.")
	}
	// Check the name before permission is asked for: a request about an unknown agent has no answer.
	allowed, err := call.Tasks.IsAllowed(ctx, in.Agent)
	if err == nil && !allowed {
		err = t.checkAgent(in.Agent)
	}
	if err != nil {
		return tool.Output{}, err
	}
	// Ask, unless the caller has allowed this agent already.
	if !allowed {
		about, _ := json.Marshal(map[string]string{"description": in.Description, "subagent_type": in.Agent})
		err := call.Ask(ctx, tool.Request{
			Action: tool.NameTask, Resources: []string{in.Agent}, Save: []string{"*"}, Metadata: about,
		})
		if err != nil {
			return tool.Output{}, err
		}
	}
	// Run the task. A failed one names its session all the same, so that the model can continue it.
	result, err := call.Tasks.RunTask(ctx, tool.Task{
		Description: in.Description, Prompt: in.Prompt, Agent: in.Agent, Continue: in.Continue, Background: in.Background,
	})
	if err != nil && result.SessionID != "" {
		return tool.Output{Structured: tool.EncodeObject(result.TaskSession)}, err
	}
	if err != nil {
		return tool.Output{}, err
	}
	// A background task has only begun; its report arrives as a message later.
	if result.Background {
		return tool.TextOutput(in.Description, formatRunning(result.TaskSession), result.TaskSession), nil
	}
	text := tool.FormatTask(result.SessionID, tool.TaskCompleted, result.Text)
	return tool.TextOutput(in.Description, text, result.TaskSession), nil
}

// formatRunning returns what the model sees of a task in the background that has begun.
func formatRunning(t tool.TaskSession) string {
	return tool.FormatTask(t.SessionID, tool.TaskRunning, "The task works in the background, as job "+string(t.JobID)+
		". Its report comes by itself, as a message; the tool job waits for it and ends it.")
}

// checkAgent returns an error for the model if there is no such subagent.
func (t *taskTool) checkAgent(name string) error {
	names := make([]string, len(t.agents))
	for i, a := range t.agents {
		names[i] = a.ID
	}
	if slices.Contains(names, name) {
		return nil
	}
	if near := spelling.FindNearest(name, names, 3); len(near) > 0 {
		return tool.Failf("There is no subagent %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return tool.Failf("There is no subagent %q; the subagents are %s.", name, strings.Join(names, ", "))
}
