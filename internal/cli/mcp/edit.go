package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// storedServer is a server as it is written to a configuration.
type storedServer struct {
	Type        string            `json:"type"`
	Command     []string          `json:"command,omitzero"`
	Cwd         string            `json:"cwd,omitzero"`
	Environment map[string]string `json:"environment,omitzero"`
	URL         string            `json:"url,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	OAuth       jsontext.Value    `json:"oauth,omitzero"`
	Enabled     *bool             `json:"enabled,omitzero"`
	Timeout     int64             `json:"timeout,omitzero"` // milliseconds
}

// editFlags are those of commands that change a configuration.
type editFlags struct {
	project bool
	replace bool
}

// isTaken reports whether there is a server of the name where the command adds one.
func (f *editFlags) isTaken(c *config.Config, name string) bool {
	_, ok := c.MCP[name]
	return ok || f.project && slices.Contains(c.UntrustedServers, name)
}

const projectUsage = "change the project's cairn.json instead of your own configuration"

func (f *editFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.project, "project", false, projectUsage)
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace servers of the same names")
}

func (g serverCommands) addCommand() *cobra.Command {
	var edit editFlags
	var environment, headers []string
	cmd := &cobra.Command{
		Use: "add NAME (URL | -- COMMAND ARGUMENT…)", Short: "Add a server to your configuration",
		Args: cobra.MinimumNArgs(2),
		Long: "Add a server: the address of a remote one, or the command that starts a local one. A value such as\n" +
			"{env:NAME} stands for a variable of the environment, so that no key stands in the file.",
		Example: "  cairn mcp add memory -- npx -y @modelcontextprotocol/server-memory\n" +
			"  cairn mcp add github https://api.githubcopilot.com/mcp/ --header 'Authorization=Bearer {env:GITHUB_TOKEN}'",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// A local or a remote server.
			if err := checkName(args[0]); err != nil {
				return cli.NewExitError(cli.ExitUsage, err, "")
			}
			s, err := newServer(args[1:])
			if err != nil {
				return cli.NewExitError(cli.ExitUsage, err, "")
			}
			// The flags of its kind.
			if s.Environment, err = parsePairs("env", environment); err != nil {
				return err
			}
			if s.Headers, err = parsePairs("header", headers); err != nil {
				return err
			}
			if s.Type == "local" && s.Headers != nil || s.Type == "remote" && s.Environment != nil {
				return cli.UsageErrorf("--env is for local servers, --header for remote ones")
			}
			return g.store(ctx, map[string]storedServer{args[0]: s}, edit)
		}),
	}
	cmd.Flags().StringArrayVar(&environment, "env", nil, "give the server a variable, `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&headers, "header", nil,
		"send a header with each request, `NAME=VALUE`; may be repeated")
	edit.addTo(cmd)
	return g.inv.AddJSONFlag(cmd)
}

// maxName bounds the name of a server, in bytes: the names of its tools begin with it.
const maxName = 64

var validName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// checkName returns an error unless a server can have the name.
func checkName(name string) error {
	if len(name) > maxName || !validName.MatchString(name) {
		return fmt.Errorf("%.80q cannot be the name of a server: it must have letters, digits, _, - and ., at most %d",
			name, maxName)
	}
	return nil
}

// newServer returns the server of the words of a command line: an address, or a command.
func newServer(words []string) (storedServer, error) {
	if isAddress(words[0]) {
		if len(words) > 1 {
			return storedServer{}, errors.New("a remote server has an address and no further arguments")
		}
		return storedServer{Type: "remote", URL: words[0]}, nil
	}
	return storedServer{Type: "local", Command: words}, checkCommand(words)
}

// isAddress reports whether a text is an address of http or https.
func isAddress(text string) bool {
	scheme, rest, ok := strings.Cut(text, "://")
	host, _, _ := strings.Cut(rest, "/")
	return ok && host != "" && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"))
}

// scheme is how an address begins.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):/`)

// checkCommand returns an error unless the words can be a command. Its text does not repeat an address, which may have
// a secret.
func checkCommand(words []string) error {
	if strings.TrimSpace(words[0]) == "" {
		return errors.New("the command is empty")
	}
	if m := scheme.FindStringSubmatch(words[0]); m != nil && len(m[1]) > 1 { // one letter is a drive
		return fmt.Errorf("an address of %s is not a command; a remote server has one that begins with https://HOST",
			strings.ToLower(m[1]))
	}
	return nil
}

// parsePairs returns the pairs of a flag.
func parsePairs(flag string, pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, cli.UsageErrorf("--%s %q is not NAME=VALUE", flag, p)
		}
		out[name] = value
	}
	return out, nil
}

// store writes servers to the configuration, all or none. One that is there already is an error, unless it may be
// replaced.
func (g serverCommands) store(ctx context.Context, servers map[string]storedServer, edit editFlags) error {
	// Check all names before anything is recorded or written.
	c, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(servers))
	for _, name := range names {
		if !edit.replace && edit.isTaken(c, name) {
			return cli.NewExitError(cli.ExitUsage, fmt.Errorf("there is an MCP server %s already", name),
				"Nothing was changed. --replace replaces it.")
		}
		if err := config.CheckKey(serverKey(name)); err != nil {
			return cli.NewExitError(cli.ExitUsage, err, "Nothing was changed.")
		}
	}
	// Record the change, then write it.
	if err := g.inv.RecordSettings(ctx, "set the MCP servers "+strings.Join(names, ", ")); err != nil {
		return err
	}
	values := map[string]jsontext.Value{}
	for _, name := range names {
		if values[serverKey(name)], err = json.Marshal(servers[name], json.Deterministic(true)); err != nil {
			return err
		}
	}
	file, err := c.ChangeValues(ctx, edit.project, values)
	if err != nil {
		return err
	}
	// A server of a project that is not trusted cannot be tried yet.
	hint := "To try it: cairn mcp debug " + names[0]
	if c, err = g.inv.LoadConfig(ctx); err == nil && slices.Contains(c.UntrustedServers, names[0]) {
		hint = "The project's servers wait for trust. To try it: cairn trust, then cairn mcp debug " + names[0]
	}
	text := fmt.Sprintf("Added %s to %s. %s", strings.Join(names, ", "), file, hint)
	return g.inv.FinishChange(nil, cli.Change{File: file}, text)
}

// serverKey returns the key of a server in the configuration.
func serverKey(name string) string { return `mcp."` + name + `"` }

func (g serverCommands) removeCommand() *cobra.Command {
	var edit editFlags
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a server from your configuration",
		Args:    cobra.ExactArgs(1),
		Example: "  cairn mcp remove memory", ValidArgsFunction: g.completeServers,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Find the file that has it: this command changes one of two.
			name := args[0]
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			files, file := c.ServerFiles(name), c.TargetFile(edit.project)
			if !slices.Contains(files, file) {
				return explainOtherFile(c, name, file, files)
			}
			// Record the change, then write it.
			if err := g.inv.RecordSettings(ctx, "unset the MCP server "+name); err != nil {
				return err
			}
			if file, err = c.ChangeValue(ctx, edit.project, serverKey(name), []jsontext.Value{nil}); err != nil {
				return err
			}
			for _, other := range files {
				if other != file {
					g.inv.Note(other + " configures it still")
				}
			}
			return g.inv.FinishChange(nil, cli.Change{File: file}, "Removed "+name+" from "+file+".")
		}),
	}
	cmd.Flags().BoolVar(&edit.project, "project", false, projectUsage)
	return g.inv.AddJSONFlag(cmd)
}

// explainOtherFile returns the error for a server that the file of the command does not have, with the step that
// removes it from the first of the files that do.
func explainOtherFile(c *config.Config, name, file string, files []string) error {
	if len(files) == 0 {
		err := fmt.Errorf("there is no MCP server %q in the configuration", name)
		return cli.NewExitError(cli.ExitUsage, err, "")
	}
	hint := "To remove it, delete " + document.JoinKey("mcp", name) + " there."
	switch files[0] {
	case c.TargetFile(false):
		hint = "To remove it: cairn mcp remove " + name
	case c.TargetFile(true):
		hint = "To remove it: cairn mcp remove --project " + name
	}
	err := fmt.Errorf("the MCP server %s is configured in %s, not in %s", name, strings.Join(files, " and "), file)
	return cli.NewExitError(cli.ExitUsage, err, hint)
}
