package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// completionTimeout bounds how long a shell waits for candidates.
const completionTimeout = 2 * time.Second

// Complete returns a completion function for arguments or the value of a flag. list reads the candidates; it is not
// called before something is stored. A shell that completes never owns the store. Errors offer nothing.
func (a *Invocation) Complete(
	list func(ctx context.Context, c *api.Client) ([]cobra.Completion, error),
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const order = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		// Before something is stored there are no candidates, and completion must not create the store.
		dirs, err := config.FindDirectories(a.Env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if _, err := os.Stat(dirs.Data); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// Read the candidates for a limited time, because the shell waits.
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		var all, fitting []cobra.Completion
		o, err := a.HostOptions("")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// Read only: this process must not become the owner. Notes would garble the command line.
		o.Read, o.Note = true, nil
		_ = a.WithHostClient(ctx, o, func(ctx context.Context, c *api.Client) (err error) { // errors offer nothing
			all, err = list(ctx, c)
			return err
		})
		// Offer only candidates that continue what is typed.
		for _, candidate := range all {
			if strings.HasPrefix(candidate, typed) {
				fitting = append(fitting, candidate)
			}
		}
		return fitting, order
	}
}

// FirstOnly limits a completion function to the first argument.
func FirstOnly(f cobra.CompletionFunc) cobra.CompletionFunc { return CompleteInOrder(f) }

// CompleteInOrder completes each argument with the function at its position, and further arguments with nothing.
func CompleteInOrder(functions ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(functions) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		f := functions[len(args)]
		return f(cmd, nil, typed)
	}
}

// FixedCompletions completes an argument or the value of a flag by values that do not change.
func FixedCompletions(values ...string) cobra.CompletionFunc {
	const order = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	return cobra.FixedCompletions(values, order)
}

// CompleteFirst completes the first argument of a command by its name in the usage line. Others have no candidates.
func (a *Invocation) CompleteFirst(cmd *cobra.Command) cobra.CompletionFunc {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	switch arguments {
	case "FILE":
		return FirstOnly(completeFiles)
	case "KEY", "[KEY]", "KEY VALUE": // of the configuration
		return FirstOnly(FixedCompletions(config.ListKeys()...))
	}
	list := map[string]func(context.Context, *api.Client) ([]cobra.Completion, error){
		"PROVIDER":                 providerCompletions, // auth logout
		"[PROVIDER]":               providerCompletions, // models
		"[NAME]":                   providerCompletions, // doctor provider
		"PROVIDER/MODEL[#VARIANT]": ModelCompletions,
		"NAME":                     AgentCompletions, // agent show
		"REQUEST ANSWER [REASON…]": askCompletions,
		"QUESTION ANSWER…":         questionCompletions,
		"QUESTION":                 questionCompletions,
	}[arguments]
	if list == nil || cmd.Name() == "create" { // the name of a new agent
		return cobra.NoFileCompletions
	}
	return FirstOnly(a.Complete(list))
}

func completeFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// SessionCompletions returns the newest sessions of the repository, by id and as last.
func (a *Invocation) SessionCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	q, err := c.RepositorySessions(ctx, false)
	if err != nil {
		return nil, err
	}
	list, _, err := listSessions(ctx, c, q, 50)
	for i, s := range list {
		if i == 0 {
			all = append(all, cobra.CompletionWithDesc("last", describe.SessionTitle(s)))
		}
		all = append(all, cobra.CompletionWithDesc(string(s.ID), describe.SessionTitle(s)))
	}
	return all, err
}

// TagCompletions returns the tags of the newest sessions of all directories.
func TagCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, _, err := listSessions(ctx, c, api.SessionQuery{Archived: true}, 500)
	for _, s := range list {
		all = append(all, s.Tags...)
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// toolTime is the time whose calls ToolCompletions counts: the messages of longer ones take too long to read.
const toolTime = 30 * 24 * time.Hour

// ToolCompletions returns the tools that were called lately, in any session, those with the most calls first.
func ToolCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	sums, err := c.Stats(ctx, api.StatsQuery{Since: time.Now().Add(-toolTime).UnixMilli(), Messages: true})
	for _, one := range sums.Tools {
		all = append(all, cobra.CompletionWithDesc(one.Tool, terminal.FormatPlural(one.Calls, "call")))
	}
	return all, err
}

// AgentCompletions returns the agents of the directory that users can select or mention.
func AgentCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Agents(ctx)
	for _, one := range list.Data {
		if !one.Hidden {
			all = append(all, cobra.CompletionWithDesc(string(one.ID), terminal.FirstLine(one.Description, 60)))
		}
	}
	return all, err
}

// CommandCompletions returns the commands of the directory.
func CommandCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Commands(ctx)
	for _, one := range list.Data {
		all = append(all, cobra.CompletionWithDesc(one.Name, terminal.FirstLine(one.Description, 60)))
	}
	return all, err
}

// ModelCompletions returns the usable models.
func ModelCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Models(ctx)
	for _, m := range list.Data {
		all = append(all, cobra.CompletionWithDesc(string(m.ProviderID)+"/"+string(m.ID), terminal.FirstLine(m.Name, 60)))
	}
	return all, err
}

// providerCompletions returns the providers whose models can be used.
func providerCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Models(ctx)
	for _, m := range list.Data {
		if id := string(m.ProviderID); !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all, err
}

// askCompletions returns the pending permission requests of all sessions.
func askCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Asks(ctx, "")
	for _, ask := range list {
		what := terminal.FirstLine(ask.Action+" "+strings.Join(ask.Resources, ", "), 60)
		all = append(all, cobra.CompletionWithDesc(string(ask.ID), what))
	}
	return all, err
}

// questionCompletions returns the pending questions of all sessions.
func questionCompletions(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
	list, err := c.Questions().List(ctx, "")
	for _, q := range list {
		text := ""
		if len(q.Questions) > 0 {
			text = terminal.FirstLine(q.Questions[0].Question, 60)
		}
		all = append(all, cobra.CompletionWithDesc(string(q.ID), text))
	}
	return all, err
}
