package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// elsewhere are the commands of OpenCode's that cairn has not: why, and what to do instead.
var elsewhere = []struct {
	use          string
	aliases      []string
	why, instead string
}{
	{"acp", nil, "editors are not served over ACP", "opencode serve answers OpenCode's HTTP API, opencode run --format json one prompt."},
	{"db", nil, "the store is not OpenCode's database", "opencode export writes a session, cairn backup all of the store, cairn fsck checks it."},
	{"debug", nil, "there are no debugging tools of this name", "cairn doctor, cairn config explain, cairn skill list, cairn agent show and cairn permission explain tell what they would."},
	{"github", nil, "there is no agent at GitHub", "In a workflow, opencode run --format json works without a terminal."},
	{"mcp", nil, "MCP servers cannot be used yet", "What the configuration says of them is kept and has no effect."},
	{"plugin", []string{"plug"}, "there are no plugins", "Agents, commands, skills and tools of the configuration work: cairn agent list, cairn skill list."},
	{"pr", nil, "pull requests are not checked out", "gh pr checkout NUMBER does, then opencode run."},
	{"uninstall", nil, "cairn does not remove itself", "Remove the program, and with cairn doctor's folders all that it keeps."},
	{"upgrade", nil, "cairn does not replace itself", "Get a newer program from where this one came; cairn version says which this is."},
	{"web", nil, "there are no web pages for sessions", "opencode serve answers OpenCode's clients, opencode attach URL shows it on a terminal."},
}

// elsewhereCommands take whatever OpenCode's take, so that the answer is not about it.
func (a *app) elsewhereCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, e := range elsewhere {
		c := &cobra.Command{
			Use: e.use, Aliases: e.aliases, Short: e.why, Long: "Not in cairn: " + e.why + ".\n" + e.instead,
			Example: "  " + openCode + " " + e.use, Hidden: true, Args: cobra.ArbitraryArgs,
			FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
			RunE: a.does(func(context.Context, []string) error {
				return &exit{exitUsage, fmt.Errorf("there is no %s here: %s", e.use, e.why), e.instead}
			}),
		}
		all = append(all, c)
	}
	return all
}
