// Package plan implements the tools that switch a session between planning and work, with the user's consent.
package plan

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

const schema = `{"type":"object","properties":{},"additionalProperties":false}`

// switchTool asks the user, and switches the session to another agent with its next turn.
type switchTool struct {
	name, about string
	agent       string                             // to switch to
	question    func(plan string) session.Question // with the answers yes and no
	prompt      func(plan string) string           // tells the agent what to do
	title       string                             // of the result
	result      func(plan string) string           // for the model
}

// New returns the tools whose agents exist. Their words are OpenCode's, since clients and models know them.
func New(agents []session.Agent) (tools []tool.Tool) {
	for _, t := range []*switchTool{enterTool(), exitTool()} {
		if slices.ContainsFunc(agents, func(a session.Agent) bool { return a.ID == t.agent }) {
			tools = append(tools, t)
		}
	}
	return tools
}

func enterTool() *switchTool {
	return &switchTool{
		name: "plan_enter", agent: session.AgentPlan,
		about: "Suggests to the user to plan before anything is changed, and switches the session to the agent plan if " +
			"they agree. Call it at the beginning of work that is large, ambiguous or hard to take back. Do not call it " +
			"for a small change, for a question, or if the user wants the work done at once.",
		question: func(plan string) session.Question {
			return yesOrNo("Plan Mode",
				"Would you like to switch to the plan agent and create a plan saved to "+plan+"?",
				"Switch to plan agent for research and planning",
				"Stay with build agent to continue making changes")
		},
		prompt: func(string) string {
			return "User has requested to enter plan mode. Switch to plan mode and begin planning."
		},
		title: "Switching to plan agent",
		result: func(plan string) string {
			return "User confirmed to switch to plan mode. A new message has been created to switch you to plan mode. " +
				"The plan file will be at " + plan + ". Begin planning."
		},
	}
}

func exitTool() *switchTool {
	return &switchTool{
		name: "plan_exit", agent: session.AgentBuild,
		about: "Asks the user to approve the plan, and switches the session to the agent build if they do. Call it when " +
			"the plan is written to its file, complete, and no question about it is open. Do not call it to ask for " +
			"anything else.",
		question: func(plan string) session.Question {
			return yesOrNo("Build Agent",
				"Plan at "+plan+" is complete. Would you like to switch to the build agent and start implementing?",
				"Switch to build agent and start implementing the plan",
				"Stay with plan agent to continue refining the plan")
		},
		prompt: func(plan string) string {
			return "The plan at " + plan + " has been approved, you can now edit files. Execute the plan"
		},
		title: "Switching to build agent",
		result: func(string) string {
			return "User approved switching to build agent. Wait for further instructions."
		},
	}
}

const answerYes = "Yes"

func yesOrNo(header, question, yes, no string) session.Question {
	return session.Question{
		Question: question, Header: header, Custom: new(bool),
		Options: []session.Option{{Label: answerYes, Description: yes}, {Label: "No", Description: no}},
	}
}

// Definition describes the tool.
func (t *switchTool) Definition() tool.Definition {
	return tool.Definition{Name: t.name, Description: t.about, Schema: jsontext.Value(schema)}
}

// Run asks the user. Every answer but yes declines, which ends the turn.
func (t *switchTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	switch {
	case call.SwitchAgent == nil:
		return tool.Output{}, tool.Failf("Only the user's own session switches between planning and work, and this is " +
			"that of a subagent. Go on with the task, and say in the report what is open.")
	case call.Agent == t.agent:
		return tool.Output{}, tool.Failf("The agent is %s already.", t.agent)
	}
	answers, err := call.Question(ctx, []session.Question{t.question(call.Plan)})
	if err != nil {
		return tool.Output{}, err
	}
	if len(answers) != 1 || !slices.Equal(answers[0], []string{answerYes}) {
		return tool.Output{}, &tool.Denial{Action: tool.ActionQuestion, Resources: []string{"*"}, Stop: true}
	}
	if err := call.SwitchAgent(ctx, t.agent, t.prompt(call.Plan)); err != nil {
		return tool.Output{}, err
	}
	return tool.TextOutput(t.title, t.result(call.Plan), map[string]any{}), nil
}
