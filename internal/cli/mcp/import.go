package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/cairn-dev/cairn/internal/cli"
)

func (g serverCommands) importCommand() *cobra.Command {
	var edit editFlags
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Add the servers of other programs' files to your configuration", Args: cobra.MinimumNArgs(1),
		Long: "Add the servers of files such as .mcp.json (Claude Code), claude_desktop_config.json (Claude Desktop),\n" +
			".vscode/mcp.json (VS Code) and .cursor/mcp.json (Cursor). ${NAME} and ${env:NAME} become {env:NAME}.\n" +
			"What cannot be taken over is named; the others are added.",
		Example: "  cairn mcp import .mcp.json\n  cairn mcp import --project .vscode/mcp.json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			found := map[string]storedServer{}
			for _, name := range args {
				text, err := g.readFile(name)
				if err != nil {
					return err
				}
				servers, notes, err := convertServers(text)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				for _, n := range notes {
					g.inv.Note(name + ": " + n)
				}
				maps.Copy(found, servers)
			}
			if len(found) == 0 {
				err := fmt.Errorf("there are no MCP servers in %s", strings.Join(args, ", "))
				return cli.NewExitError(cli.ExitUsage, err,
					"They are looked for under mcpServers, servers and mcp.servers.")
			}
			return g.store(ctx, found, edit)
		}),
	}
	edit.addTo(cmd)
	return g.inv.AddJSONFlag(cmd)
}

// foreignServer is a server in the files of other programs.
type foreignServer struct {
	Type     string            `json:"type"` // stdio, http, sse; often absent
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// convertServers returns the servers of a file in cairn's form, and notes about what is left out or must be looked at.
// Comments and trailing commas are allowed.
func convertServers(text []byte) (out map[string]storedServer, notes []string, err error) {
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		return nil, nil, err
	}
	var file struct {
		MCPServers map[string]jsontext.Value `json:"mcpServers"`
		Servers    map[string]jsontext.Value `json:"servers"`
		MCP        struct {
			Servers map[string]jsontext.Value `json:"servers"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(plain, &file); err != nil {
		return nil, nil, err
	}
	out = map[string]storedServer{}
	for _, list := range []map[string]jsontext.Value{file.MCPServers, file.Servers, file.MCP.Servers} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			var f foreignServer
			if err := json.Unmarshal(list[name], &f); err != nil {
				notes = append(notes, fmt.Sprintf("%s is left out: %v", name, err))
				continue
			}
			s, problem := f.convert()
			if problem != "" {
				notes = append(notes, name+" "+problem)
			}
			if s.Type != "" {
				out[name] = s
			}
		}
	}
	return out, notes, nil
}

// convert returns the server in cairn's form; without a type if it cannot be used. problem says what is missing.
func (f foreignServer) convert() (s storedServer, problem string) {
	replace := func(text string) string {
		text = foreignVariable.ReplaceAllStringFunc(text, func(found string) string {
			m := foreignVariable.FindStringSubmatch(found)
			return "{env:" + cmp.Or(m[1], m[2]) + "}"
		})
		if left := foreignPlaceholder.FindString(text); left != "" {
			problem = "has " + left + ", which cairn does not fill in; change it in the configuration"
		}
		return text
	}
	replaceAll := func(m map[string]string) map[string]string {
		for name, value := range m {
			m[name] = replace(value)
		}
		return m
	}
	switch {
	case f.URL != "":
		s = storedServer{Type: "remote", URL: replace(f.URL), Headers: replaceAll(f.Headers)}
	case f.Command != "":
		s = storedServer{
			Type: "local", Command: []string{replace(f.Command)}, Cwd: replace(f.Cwd), Environment: replaceAll(f.Env),
		}
		for _, a := range f.Args {
			s.Command = append(s.Command, replace(a))
		}
	default:
		return s, "is left out: it has neither a command nor a url"
	}
	if f.Disabled {
		no := false
		s.Enabled = &no
	}
	return s, problem
}

var (
	// foreignVariable is a variable of the environment, as Claude Code, VS Code and Cursor write it; a default after :- is
	// dropped.
	foreignVariable = regexp.MustCompile(`\$\{env:(\w+)\}|\$\{([A-Z_]\w*)(?::-[^}]*)?\}`)
	// foreignPlaceholder is what is left: ${input:…}, ${workspaceFolder} and the like.
	foreignPlaceholder = regexp.MustCompile(`\$\{[^}]*\}`)
)
