package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// root builds the tree of commands. It touches nothing.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "cairn",
		Short:         "Durable coding-agent sessions",
		Long:          rootHelp,
		Version:       version().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.noSuchCommand,
		RunE: a.does(func(context.Context, []string) error {
			a.out.printf("%s", rootHelp)
			return a.out.err
		}),
	}
	root.SetOut(pages{a.out})
	root.SetErr(a.err)
	root.SetIn(a.Stdin)
	root.SetVersionTemplate("cairn {{.Version}}\n")
	if a.asOpenCode() {
		root.Use, root.Version = openCode, openCodeVersion
		root.SetVersionTemplate("{{.Version}}\n")
	}
	a.logs.flags(root)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddGroup(&cobra.Group{ID: groupWork, Title: "Work:"}, &cobra.Group{ID: groupLook, Title: "Look:"}, &cobra.Group{ID: groupCare, Title: "Care:"})
	root.SetHelpCommandGroupID(groupCare)
	root.SetCompletionCommandGroupID(groupCare)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupWork, a.runCommand(), a.sessionCommand(), a.inboxCommand(), a.permissionCommand(), a.questionCommand(), a.jobsCommand(), a.serveCommand(), a.attachCommand())
	add(groupLook, a.eventsCommand(), a.modelsCommand(), a.agentCommand(), a.skillCommand(), a.commandCommand(), a.statsCommand())
	add(groupCare, a.authCommand(), a.configCommand(), a.trustCommand(), a.doctorCommand(), a.fsckCommand(), a.backupCommand(), a.exportCommand(), a.importCommand(), a.salvageCommand(), a.versionCommand())
	root.InitDefaultCompletionCmd()
	shells(root)
	completions(root)
	root.AddCommand(topic("exit-codes", "The exit codes", exitCodesHelp()), topic("environment", "The environment variables", environmentHelp))
	return root
}

const (
	groupWork = "work"
	groupLook = "look"
	groupCare = "care"
)

// noSuchCommand says what may have been meant by a command that there is not.
func (a *app) noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if near := nearest(args[0], names); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", line(args[0], 40), strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q; to ask something: %s run %[1]q", line(args[0], 40), root.Name())
}

// topic is a page of help that is no command.
func topic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: text}
}

// shells makes cobra's completion command refuse a shell that it does not know.
func shells(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		parent(c)
		for _, shell := range c.Commands() {
			shell.Example = "  cairn completion " + shell.Name()
		}
	}
}

// completions keeps shells from offering files where none are meant.
func completions(c *cobra.Command) {
	switch {
	case c.Name() == "salvage" || c.Name() == "trust":
		c.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case c.Name() != "backup" && c.ValidArgsFunction == nil:
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for name, values := range map[string][]string{"format": {"text", "json"}, "ask": {"deny", "allow", "fail", "wait:5m"}} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
		}
	}
	for _, sub := range c.Commands() {
		completions(sub)
	}
}
