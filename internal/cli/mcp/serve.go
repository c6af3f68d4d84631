package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (g serverCommands) serveCommand() *cobra.Command {
	var asks string
	var answers bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer the sessions of this directory to other agents, as an MCP server over standard input and output",
		Long: "Offer tools to create, prompt, read and list sessions and to show their changes. A prompt that needs an\n" +
			"answer returns with the request: a person answers it in cairn, or with --allow-answers the other agent.",
		Args: cobra.NoArgs, Example: "  cairn mcp serve\n  claude mcp add cairn -- cairn mcp serve",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			if err := cli.CheckAskPolicy(asks, "deny", "allow", "edits", "fail"); err != nil {
				return err
			}
			at, err := c.Location(ctx)
			if err != nil {
				return err
			}
			s := &sessionServer{client: c, directory: at.Directory, asks: session.AskPolicy(asks)}
			return s.newServer(g.inv.ServerVersion(), answers).Run(ctx, &sdk.StdioTransport{})
		}),
	}
	cmd.Flags().StringVar(&asks, "ask", "",
		"answer permission requests: deny, allow, edits, fail, or wait:DURATION; without it people do")
	cmd.Flags().BoolVar(&answers, "allow-answers", false, "let the other agent answer permission requests and questions")
	return cmd
}

// sessionServer offers the sessions of a directory as tools of MCP.
type sessionServer struct {
	client    *api.Client
	directory string            // of the sessions
	asks      session.AskPolicy // of its prompts
}

// newServer returns the server; with answers it has a tool to answer what sessions ask.
func (s *sessionServer) newServer(version string, answers bool) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "cairn", Version: version}, &sdk.ServerOptions{
		Instructions: "Sessions of the coding agent cairn in one directory. session_prompt works until the task is done; " +
			"it returns early, in the state asking, if a permission or an answer is needed.",
	})
	// The tools that work.
	sdk.AddTool(server, &sdk.Tool{
		Name:        "session_prompt",
		Description: "Gives a task to a session and waits until it is done. Without a session a new one begins.",
	}, s.prompt)
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_wait",
		Description: "Waits until a session that works has done so, or asks. Says also how work ended that is over: done, " +
			"failed or interrupted, and why.",
	}, s.wait)
	// The tools that read, and the one that stops.
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_list", Annotations: readOnly,
		Description: "Lists the newest sessions of the directory: whether they are idle, working or asking, their titles, " +
			"and when they changed. session_wait says how the work of an idle one ended.",
	}, s.list)
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_read", Description: "Returns the newest messages of a session.", Annotations: readOnly,
	}, s.read)
	sdk.AddTool(server, &sdk.Tool{
		Name: "session_diff", Description: "Returns what a session changed in files.", Annotations: readOnly,
	}, s.diff)
	sdk.AddTool(server, &sdk.Tool{Name: "session_interrupt", Description: "Stops the work of a session."}, s.interrupt)
	// The tool that decides for the user, if the user lets it.
	if answers {
		sdk.AddTool(server, &sdk.Tool{
			Name: "session_answer",
			Description: "Answers a request of a session, by its id: a permission with once or reject and a message for the " +
				"model, a question with answers, or with reject.",
		}, s.answer)
	}
	return server
}
