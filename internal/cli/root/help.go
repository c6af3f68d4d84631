package root

import "github.com/cairn-dev/cairn/internal/cli/term"

const rootHelp = `cairn runs coding-agent sessions and stores every prompt, model response and tool result as it
happens, so that a session continues after a crash, a restart or Ctrl-C.

  cairn run "What does this project do?"     ask about this directory
  cairn run -c "Now explain the tests"       continue the newest session of this directory
  cairn run "replace foo with bar in a.txt"  approve each change before it is made

  cairn session list                         list the sessions of this directory
  cairn session show last                    show the newest one
  cairn models                               list the models that can be used
  cairn auth login openai                    store the API key of a provider
  cairn serve                                serve the HTTP API (OpenCode's V1 and V2)

Without a key a built-in guide answers: not a language model, but honest about it, and it really looks.
Every command has --help. cairn help exit-codes lists the exit codes, cairn help environment the variables.
`

// The templates are cobra's, without its empty lines and with examples before flags.
const (
	helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}
{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

	usageTemplate = `{{if not .HasAvailableSubCommands}}
Usage: {{.UseLine}}{{else}}
Usage: {{.CommandPath}} COMMAND{{end}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}
Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{else}}{{range $group := .Groups}}
{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`
)

const environmentHelp = `The environment variables of cairn. OPENCODE_ instead of CAIRN_ works too.

  CAIRN_HOME            keep everything below this one directory
  CAIRN_CONFIG          one more configuration file
  CAIRN_CONFIG_CONTENT  configuration itself, as JSON
  CAIRN_CONFIG_DIR      one more directory of configuration, with agents and commands
  CAIRN_PERMISSION      permission rules, as JSON
  CAIRN_DISABLE_PROJECT_CONFIG, CAIRN_DISABLE_AUTOCOMPACT, CAIRN_DISABLE_PRUNE
                        1 leaves out a project's files, or that part of compaction
  CAIRN_DISABLE_CLAUDE_CODE, CAIRN_DISABLE_CLAUDE_CODE_PROMPT, CAIRN_DISABLE_CLAUDE_CODE_SKILLS
                        1 leaves out all that is Claude's, CLAUDE.md, or the skills in .claude
  CAIRN_DISABLE_EXTERNAL_SKILLS
                        1 leaves out the skills in .claude and .agents
  CAIRN_EXPERIMENTAL_OUTPUT_TOKEN_MAX
                        how many tokens a model may say in one turn, 32000 without it
  CAIRN_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS
                        how long a command may take that does not say, 120000 without it
  CAIRN_WEBSEARCH_PROVIDER
                        exa or parallel, where both keys are set
  CAIRN_SERVER_PASSWORD, CAIRN_SERVER_USERNAME
                        what requests to cairn serve must carry
  CAIRN_MODELS_PATH, CAIRN_MODELS_URL
                        a file of facts about models, or where to fetch them from; in the shape of models.dev
  CAIRN_DISABLE_MODELS_FETCH
                        1 fetches none: what is known stays in use
  CAIRN_DISABLE_DISCOVERY
                        1 does not ask servers on this machine (Ollama, LM Studio, vLLM, llama.cpp) for their models
  CAIRN_DISABLE_KEYRING
                        1 keeps new keys in a file, not in the keyring of the operating system
  CAIRN_SCRIPT          a script file; the model cairn/script plays it, for tests and demos
  CAIRN_LOG             what is logged to standard error: debug, info, warn, error (default)
  XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
                        where files live without CAIRN_HOME; each with /cairn
  NO_COLOR              no colour, also on a terminal
  OPENAI_API_KEY, …     a provider's key; cairn auth list shows which ones are found
`

// helpWriter is where cobra writes help. A write error is kept in the stream and reported by the command.
type helpWriter struct{ to *term.Stream }

func (p helpWriter) Write(b []byte) (int, error) {
	_, _ = p.to.Write(b) // kept in p.to.err
	return len(b), nil
}
