package root

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

const rootHelp = `cairn runs coding-agent sessions and stores every prompt, model response and tool result as it
happens, so that a session continues after a crash, a restart or Ctrl-C.

  cairn                                      open the full-screen interface; cairn -c continues a session in it
  cairn run "What does this project do?"     ask about this directory
  cairn run -c "read go.mod"                 continue the newest session of this repository
  cairn run "replace foo with bar in a.txt"  approve each change before it is made

  cairn session list                         list the sessions of this repository
  cairn session show last                    show the newest one
  cairn diff                                 show what it changed in files
  cairn undo                                 take its newest prompt back, with the files
  cairn models                               list the models that can be used
  cairn auth login openai                    store the API key of a provider
  cairn serve                                serve the HTTP API (OpenCode's V1 and V2)

Without an API key the built-in offline guide answers. It is not a language model, but it searches and reads your files.
Every command has --help. cairn help exit-codes lists the exit codes, cairn help environment the variables.
`

const environmentHelp = `The environment variables of cairn. OPENCODE_ instead of CAIRN_ works too.

  CAIRN_HOME            the directory for all files of cairn
  CAIRN_CONFIG          an additional configuration file
  CAIRN_CONFIG_CONTENT  additional configuration, as JSON
  CAIRN_CONFIG_DIR      an additional directory of configuration, agents and commands
  CAIRN_PERMISSION      permission rules, as JSON
  CAIRN_DISABLE_PROJECT_CONFIG, CAIRN_DISABLE_AUTOCOMPACT, CAIRN_DISABLE_PRUNE
                        1 ignores a project's configuration, or disables that part of compaction
  CAIRN_DISABLE_CLAUDE_CODE, CAIRN_DISABLE_CLAUDE_CODE_PROMPT, CAIRN_DISABLE_CLAUDE_CODE_SKILLS
                        1 ignores all files of Claude Code, only CLAUDE.md, or only the skills in .claude
  CAIRN_DISABLE_EXTERNAL_SKILLS
                        1 ignores the skills in .claude and .agents
  CAIRN_EXPERIMENTAL_OUTPUT_TOKEN_MAX
                        the most output tokens of a model in one turn (default 32000)
  CAIRN_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS
                        the timeout of commands that set none, in milliseconds (default 120000)
  CAIRN_WEBSEARCH_PROVIDER
                        exa or parallel: which to use if both have a key
  CAIRN_SERVER_PASSWORD, CAIRN_SERVER_USERNAME
                        the credentials that cairn serve requires (default user name: opencode)
  CAIRN_MODELS_PATH, CAIRN_MODELS_URL
                        a file, or the URL to fetch, with the list of models in the format of models.dev
  CAIRN_DISABLE_SHARE, CAIRN_AUTO_SHARE
                        1 shares no session, or every new one; as share in the configuration
  CAIRN_DISABLE_MODELS_FETCH
                        1 never fetches the list of models
  CAIRN_DISABLE_DISCOVERY
                        1 does not search this machine for model servers (Ollama, LM Studio, vLLM, llama.cpp)
  CAIRN_DISABLE_KEYRING
                        1 stores new keys in a file, not in the keyring of the operating system
  CAIRN_PURE            1 starts without plugins
  CAIRN_LOG             the level of logs on standard error: debug, info, warn or error (default)
  XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
                        the parents of cairn's directories if CAIRN_HOME is not set
  PAGER                 the program that shows cairn diff on a terminal (default less; cat shows it as it is)
  NO_COLOR              any value disables colours on a terminal
  OPENAI_API_KEY, …     a provider's API key; cairn auth list shows the ones that are set
`

// helpWriter is the writer for cobra's help. A write error is kept in the stream and reported by the command.
type helpWriter struct{ to *terminal.Stream }

func (p helpWriter) Write(b []byte) (int, error) {
	_, _ = p.to.Write(b) // kept in p.to.err
	return len(b), nil
}

// writeHelp writes the help of a command: its description, and its usage if it can be run.
//
// Help is code and not a template of cobra: text/template finds methods by name, so with it the linker keeps every
// exported method, which is an eighth of the binary.
func writeHelp(w *strings.Builder, c *cobra.Command) {
	if text := strings.TrimRightFunc(cmp.Or(c.Long, c.Short), unicode.IsSpace); text != "" {
		fmt.Fprintln(w, text)
	}
	if c.Runnable() || c.HasSubCommands() {
		writeUsage(w, c)
	}
}

// writeUsage writes how a command is called, its examples, the commands below it and its flags.
func writeUsage(w *strings.Builder, c *cobra.Command) {
	flags := c.LocalFlags() // adds the flags of the parents to c, on which UseLine depends
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUsage: %s COMMAND\n", c.CommandPath())
		switch {
		case c.Flags().Lookup("prompt") != nil: // the root
			fmt.Fprintf(w, "       %s [flags] [DIRECTORY] [\"PROMPT\"]\n", c.CommandPath())
		case c.Runnable() && (c.Use != c.Name() || c.ValidateArgs(nil) == nil): // it needs none of its commands
			fmt.Fprintf(w, "       %s\n", c.UseLine())
		}
	} else {
		fmt.Fprintf(w, "\nUsage: %s\n", c.UseLine())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() && len(c.Groups()) == 0 {
		writeCommands(w, "Commands:", c.Commands())
	}
	for _, group := range c.Groups() {
		var members []*cobra.Command
		for _, sub := range c.Commands() {
			if sub.GroupID == group.ID {
				members = append(members, sub)
			}
		}
		writeCommands(w, group.Title, members)
	}
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s\n", strings.TrimRightFunc(flags.FlagUsages(), unicode.IsSpace))
	}
}

// writeCommands writes a line for each of the commands that can be run.
func writeCommands(w *strings.Builder, title string, commands []*cobra.Command) {
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range commands {
		if c.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

// setHelp replaces the templates of cobra for a command and those below it.
func setHelp(root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		var b strings.Builder
		writeHelp(&b, c)
		_, _ = io.WriteString(c.OutOrStdout(), b.String()) // helpWriter keeps the error
	})
	root.SetUsageFunc(func(c *cobra.Command) error {
		var b strings.Builder
		writeUsage(&b, c)
		_, err := io.WriteString(c.OutOrStderr(), b.String())
		return err
	})
}

// formatVersion returns what --version prints.
func formatVersion(inv *cli.Invocation) string {
	if inv.IsOpenCode() {
		return cli.OpenCodeVersion
	}
	return "cairn " + cli.ReadBuildInfo().String()
}
