package config

import (
	"cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// SandboxOf returns the sandbox that the user configured for an agent, or a stricter one that the project
// demands; "" if none.
func (c *Config) SandboxOf(agent string) session.SandboxMode {
	return session.SandboxMode(cmp.Or(c.Agent[agent].Sandbox, c.Sandbox.Mode)).ChooseStricter(c.ProjectSandbox)
}
