package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/session"
)

// editsPass is the ask policy under which changes of files are allowed without a question.
const editsPass session.AskPolicy = "edits"

// switchMode takes the next mode for the prompts to this session: changes are asked for; edits of files pass, and
// everything else is asked for; the agent plan, which changes nothing. Another session begins with the first one.
func switchMode(m *model) tea.Cmd {
	canPlan := slices.ContainsFunc(m.offers.MainAgents(), func(a session.Agent) bool { return a.ID == session.AgentPlan })
	switch {
	case m.agentName() == session.AgentPlan:
		m.policy, m.agent = "", m.workAgent()
		m.note = "from the next prompt on: ask before changes, agent " + m.agent
	case m.policy == "":
		m.policy = editsPass
		m.note = "from the next prompt on: edits of files pass, in this session; commands ask"
	case canPlan:
		m.policy, m.agent = "", session.AgentPlan
		m.note = "from the next prompt on: plan, which reads and changes nothing; the same key leaves it"
	default:
		m.policy = ""
		m.note = "from the next prompt on: ask before changes"
	}
	return nil
}

// resetMode begins with the first mode again, because another session is opened.
func (m *model) resetMode() {
	m.policy = ""
	if m.agent == session.AgentPlan {
		m.agent = ""
	}
}

// workAgent returns the first agent for prompts beside plan.
func (m *model) workAgent() string {
	for _, a := range m.offers.MainAgents() {
		if a.ID != session.AgentPlan {
			return a.ID
		}
	}
	return session.AgentBuild
}

// describeMode names the mode in the status line, which names the agent as well.
func (m *model) describeMode() string {
	if m.policy == editsPass {
		return "edits pass"
	}
	return ""
}
