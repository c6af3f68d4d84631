package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
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

// chosenMode is what a person chose for the next prompts of a session with switchMode.
type chosenMode struct {
	policy session.AskPolicy
	agent  string // "" is the session's
}

// keepMode keeps the mode of a session on the screen, for enterMode.
func (m *model) keepMode(id session.ID) { m.modes[id] = chosenMode{m.policy, m.agent} }

// enterMode takes the mode of a session that is opened: the one that keepMode kept, else the first one.
func (m *model) enterMode(id session.ID) {
	kept, known := m.modes[id]
	m.policy = kept.policy
	if known || m.agent == session.AgentPlan {
		m.agent = kept.agent
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

// describeMode names the mode in the status line, which names the agent as well. While a prompt runs that was sent with
// another mode than the next one, it names both. Of a prompt whose mode is unknown it names the next one only.
func (m *model) describeMode() string {
	now, next := "", describePolicy(m.policy)
	if p := m.workPolicy; p != nil {
		now = describePolicy(*p)
	}
	if m.session != nil && m.session.Agent == session.AgentPlan {
		now = session.AgentPlan
	}
	if m.agentName() == session.AgentPlan {
		next = session.AgentPlan
	}
	switch {
	case m.working && now == "" && next != describePolicy(""):
		return next + " (next prompt)"
	case m.working && now != "" && now != next:
		return now + " → " + next + " (next prompt)"
	case m.policy != "":
		return next
	}
	return ""
}

// describePolicy names what a prompt allows without a question.
func describePolicy(p session.AskPolicy) string {
	switch {
	case p == "", strings.HasPrefix(string(p), "wait:"):
		return "ask"
	case p == editsPass:
		return "edits pass"
	case p == "allow":
		return "everything passes"
	default:
		return "asks are refused"
	}
}

// findPolicy returns the policy of the newest prompt that was taken up; nil is unknown, because the prompt is not among
// the newest events, or they cannot be read.
func findPolicy(ctx context.Context, c *api.Client, id session.ID, head int64) (found *session.AskPolicy) {
	h, err := c.History(ctx, id, max(head-newestEvents, -1), newestEvents)
	if err != nil {
		return nil
	}
	for _, e := range h.Data {
		if p, ok := e.Data.(*session.Prompted); ok && !p.NoReply {
			found = &p.Asks
		}
	}
	return found
}

// newestEvents bounds how far back the mode of a running prompt is searched.
const newestEvents = 100
