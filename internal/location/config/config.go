// Package config reads the configuration of one location. It merges the defaults, the configuration of organisations,
// the user's files, the project's files, environment variables and the administrator's files, in this order, and
// remembers where each value was written.
//
// Contract:
//   - Invalid JSON, and an invalid value that may forbid something (strictKey), is an *Error with file, line, column,
//     key and the expected value; nothing is loaded then. Other invalid values are left out with a Warning, and unknown
//     keys are Warnings. An invalid Markdown file of one agent or command is left out with a Warning, and an agent of
//     that name is removed.
//   - Project files are untrusted input. Keys that could run a program, redirect a request, spend money or loosen a
//     rule have no effect until exactly that content is trusted. Permission rules of an untrusted project can only
//     tighten. {env:NAME} in project files is never expanded; {file:path} is, in texts of agents and commands, for
//     files of the project.
//   - Errors, warnings and explanations contain no secrets, headers or values of variables.
//
// ChangeValue and MergeUser are the only functions that write files.
package config

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
)

// The types of documents that users of a configuration see.
type (
	Error  = document.Error
	Remote = document.Remote
)

// Options select the configuration to load.
type Options struct {
	Directory string            // absolute path of the location; "" reads the user's configuration only
	Worktree  string            // root of its git worktree; "" outside of one
	Project   string            // project id, for trust
	Trust     *trust.Judge      // decides whether the project's files are trusted; nil trusts nothing
	Remotes   []document.Remote // configurations of organisations, lowest layer first
	All       bool              // collect errors in Config.Errors instead of returning the first one
	// Plugins says what the plugins of the location have made of its configuration; nil before they are loaded.
	Plugins *PluginChanges
	Dirs    Directories
	Env     func(string) string
}

// PluginChanges are what plugins add to a configuration.
type PluginChanges struct {
	Text     []byte // a document, above all but the administrator's; nil for none
	MayAllow bool   // its allow rules have effect
	Loaded   bool   // all plugins of the project run, so that what guards its allow rules is there
}

// Config is a loaded configuration. It is immutable and safe for concurrent use.
type Config struct {
	Settings
	Permissions []RuleList // lowest layer first
	Warnings    []Warning
	Errors      []*document.Error // with Options.All: all errors; the configuration must not be used if there are any
	Claim       *trust.Claim      // the content of the project's files that needs trust
	// UntrustedServers are the MCP servers of project files that need trust.
	UntrustedServers []string
	Trusted          bool     // whether Claim is trusted
	Unrun            []string // programs of Claim that cairn does not run; beside them, the project allows nothing
	// ProjectSandbox is the strictest sandbox that the project's files demand, which need no trust for it; "" if none.
	ProjectSandbox session.SandboxMode
	Remotes        []RemoteState
	Dirs           Directories

	agentRules map[string][]RuleList
	// untrustedFiles are the files that configure an MCP server of UntrustedServers, lowest layer first.
	untrustedFiles map[string][]string
	untrustedHooks []*document.Node // values of the key hooks of such files
	pluginFiles    []Plugin         // of the folders
	pure           bool             // no plugins
	runsPlugins    bool             // those of the project run
	references     []referenceValue
	root           *document.Node
	versions       []*document.Node // of the documents that say one, lowest layer first
	stamps         []stamp
}

// ResolveBareModels replaces the names of models without a provider that agents and commands have by those that find
// returns; nil leaves the session's model. It is called once, before the configuration is shared.
func (c *Config) ResolveBareModels(find func(name string) *session.ModelRef) {
	resolve := func(m ModelName) ModelName {
		if name := m.BareName(); name != "" {
			if ref := find(name); ref != nil {
				return ModelName(ref.String())
			}
		}
		return m
	}
	for name, a := range c.Agent {
		a.Model = resolve(a.Model)
		c.Agent[name] = a
	}
	for name, x := range c.Command {
		x.Model = resolve(x.Model)
		c.Command[name] = x
	}
}

// AgentRules returns the permission rules of one agent, lowest layer first.
func (c *Config) AgentRules(agent string) []RuleList { return c.agentRules[agent] }

// RevealSecrets returns the values that must not leave the machine: those of settings with secret names, headers, and
// those of {env:NAME} and {file:path} where they stand for a key or a variable, but not for a setting such as a model.
func (c *Config) RevealSecrets(isSecret func(name string) bool) []string {
	secrets := collectSecrets("", c.root, isSecret)
	for _, r := range c.references {
		if isSecret(r.path) || strings.HasSuffix(strings.ToLower(r.path), "key") ||
			strings.Contains(r.path, "headers.") || strings.Contains(r.path, ".webhook") ||
			strings.Contains(r.path, "environment.") {
			secrets = append(secrets, r.value)
		}
	}
	return secrets
}

// collectSecrets returns the texts below n with secret names.
func collectSecrets(name string, n *document.Node, isSecret func(name string) bool) (secrets []string) {
	if n == nil {
		return nil
	}
	if n.Kind == '"' && (isSecret(name) || name == "webhook") {
		secrets = append(secrets, n.Text)
	}
	for _, m := range n.Members {
		secrets = append(secrets, collectSecrets(m.Key, m.Value, isSecret)...)
		if name == "headers" && m.Value.Kind == '"' && !isPublicHeader(m.Key) {
			_, credential, _ := strings.Cut(m.Value.Text, " ") // without its scheme
			secrets = append(secrets, m.Value.Text, credential)
		}
	}
	for _, item := range n.Items {
		secrets = append(secrets, collectSecrets(name, item, isSecret)...)
	}
	return secrets
}

// isPublicHeader reports whether a header names formats, versions or the caller, which texts may contain as well.
func isPublicHeader(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"version", "beta", "title", "referer", "agent", "type", "origin"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.HasPrefix(name, "accept")
}

// IsFresh reports whether all files that were read are unchanged and no file that was missing has appeared. It costs
// one stat per file.
func (c *Config) IsFresh() bool {
	return !slices.ContainsFunc(c.stamps, func(s stamp) bool { return !s.isUnchanged() })
}

// RuleList is the permission rules of one document, in its order. Lists of several documents stay separate; the last
// matching rule of the last list wins (OC-8).
type RuleList struct {
	Source    string // the file or variable
	Project   bool   // from a project's files: it may deny and ask, and allow only what it denied itself
	Trusted   bool   // from a trusted project, equal to the user's
	Rules     []session.Rule
	Positions []document.Position // of each rule
}

// RemoteState is the trust of a Remote.
type RemoteState struct {
	Address string
	Claim   *trust.Claim // the content that needs trust
	Trusted bool
}

// referenceValue is the value of a reference in the configuration.
type referenceValue struct {
	path  string // with the name of the variable
	value string
}
