package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// resourceTime bounds the reading and listing of resources.
const resourceTime = time.Minute

// newResourceTools returns OpenCode's three tools for the resources of servers.
func newResourceTools(s *Set) []tool.Tool {
	server := `"server":{"type":"string","description":"The name of the server"}`
	return []tool.Tool{
		resourceTool{s, tool.Definition{
			Name: "list_mcp_resources", Action: "read",
			Description: "Lists the resources of the MCP servers, or of one: server, URI, name, description and type.",
			Schema:      jsontext.Value(`{"type":"object","properties":{` + server + `},"additionalProperties":false}`),
		}, listResources},
		resourceTool{s, tool.Definition{
			Name: "list_mcp_resource_templates", Action: "read",
			Description: "Lists the templates of resource URIs of the MCP servers, or of one.",
			Schema:      jsontext.Value(`{"type":"object","properties":{` + server + `},"additionalProperties":false}`),
		}, listTemplates},
		resourceTool{s, tool.Definition{
			Name: "read_mcp_resource", Action: "read",
			Description: "Reads a resource of an MCP server by its URI.",
			Schema: jsontext.Value(`{"type":"object","properties":{` + server +
				`,"uri":{"type":"string","minLength":1,"description":"The URI of the resource"}},` +
				`"required":["server","uri"],"additionalProperties":false}`),
		}, readResource},
	}
}

// resourceTool is one of the tools for resources.
type resourceTool struct {
	set        *Set
	definition tool.Definition
	run        func(ctx context.Context, s *Set, call tool.Call, in resourceInput) (tool.Output, error)
}

type resourceInput struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

// Definition describes the tool.
func (t resourceTool) Definition() tool.Definition { return t.definition }

// Run asks for the resources of the server and reads them.
func (t resourceTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[resourceInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	if in.Server != "" && t.set.find(in.Server) == nil {
		return tool.Output{}, tool.Failf("There is no MCP server %.80q. The servers are %s.", in.Server,
			strings.Join(t.set.names(), ", "))
	}
	server := in.Server
	if server == "" {
		server = "*"
	}
	resource, all := "mcp:"+server+":*", "mcp:"+server+":*"
	if in.URI != "" {
		resource = "mcp:" + server + ":" + in.URI
	}
	if server != "*" {
		all = "mcp:" + permission.Escape(server) + ":*"
	}
	if err := call.Ask(ctx, tool.Request{Action: "read", Resources: []string{resource}, Save: []string{all}}); err != nil {
		return tool.Output{}, err
	}
	return t.run(ctx, t.set, call, in)
}

// names returns the names of the servers.
func (s *Set) names() (out []string) {
	for _, one := range s.list() {
		out = append(out, one.name)
	}
	return out
}

func listResources(_ context.Context, s *Set, call tool.Call, in resourceInput) (tool.Output, error) {
	type row struct {
		Server      string `json:"server"`
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
		MIME        string `json:"mimeType,omitzero"`
	}
	rows := []row{}
	for _, r := range s.Resources() {
		if in.Server == "" || r.Server == in.Server {
			rows = append(rows, row(r))
		}
	}
	return jsonOutput(call, rows)
}

func listTemplates(ctx context.Context, s *Set, call tool.Call, in resourceInput) (tool.Output, error) {
	type row struct {
		Server      string `json:"server"`
		URI         string `json:"uriTemplate"`
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
		MIME        string `json:"mimeType,omitzero"`
	}
	found, problems := s.Templates(ctx, in.Server)
	rows := []row{}
	for _, r := range found {
		rows = append(rows, row(r))
	}
	out, err := jsonOutput(call, rows)
	for _, p := range problems {
		out.Content = append(out.Content, session.TextContent(p)...)
	}
	return out, err
}

// Templates returns the templates of resource URIs of a server, or of all for "", as resources whose URI is the
// template. problems say which servers could not be asked.
func (s *Set) Templates(ctx context.Context, server string) (out []Resource, problems []string) {
	ctx, cancel := context.WithTimeout(ctx, resourceTime)
	defer cancel()
	for _, one := range s.list() {
		if server != "" && one.name != server || !one.hasResources() {
			continue
		}
		var found offer
		conn, err := one.openSession(ctx)
		if err == nil {
			err = found.readTemplates(conn.ResourceTemplates(ctx, nil), one.name)
		}
		if err != nil {
			found.problems = append(found.problems, "its templates cannot be listed: "+describeError(err))
		}
		out = append(out, found.resources...)
		for _, p := range found.problems {
			problems = append(problems, "The MCP server "+one.name+": "+p)
		}
	}
	return out, problems
}

func (o *offer) readTemplates(all iter.Seq2[*sdk.ResourceTemplate, error], server string) error {
	for r, err := range takeAtMost(all, maxResources, "templates", o) {
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if why := findProblem(r.Meta); why != "" {
			o.leaveOut("template", cmp.Or(r.URITemplate, r.Name), errors.New(why))
			continue
		}
		if !isBadName(r.URITemplate) {
			o.resources = append(o.resources, Resource{
				Server: server, URI: r.URITemplate, Name: cutText(r.Name, maxName),
				Description: cutText(r.Description, maxDescription), MIME: cutText(r.MIMEType, maxName),
			})
		}
	}
	return nil
}

func jsonOutput(call tool.Call, rows any) (tool.Output, error) {
	text, err := json.Marshal(rows, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	return tool.Output{Content: session.TextContent(tool.MarkImitations(call, "MCP servers", string(text)))}, err
}

func readResource(ctx context.Context, s *Set, call tool.Call, in resourceInput) (tool.Output, error) {
	out, err := s.ReadResource(ctx, in.Server, in.URI)
	if err != nil {
		return tool.Output{}, tool.Failf("%s", describeError(err))
	}
	for i, c := range out.Content {
		out.Content[i].Text = tool.MarkImitations(call, "MCP resource "+in.URI, c.Text)
	}
	return out, nil
}

// Resources returns the resources of all servers, in the order of the servers' names.
func (s *Set) Resources() (out []Resource) {
	for _, one := range s.list() {
		out = append(out, one.state().Resources...)
	}
	return out
}

func (s *server) hasResources() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer.hasResources
}

// ReadResource returns the content of a resource: its texts, and its images and documents as attachments.
func (s *Set) ReadResource(ctx context.Context, server, uri string) (out tool.Output, err error) {
	one := s.find(server)
	if one == nil {
		return out, fmt.Errorf("there is no MCP server %q", server)
	}
	ctx, cancel := context.WithTimeout(ctx, resourceTime)
	defer cancel()
	one.start()
	conn, err := one.openSession(ctx)
	if err != nil {
		return out, err
	}
	r, err := conn.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		one.noteSilence(conn, err)
		return out, fmt.Errorf("read %s of the MCP server %s: %w", uri, server, err)
	}
	var texts []string
	for _, c := range r.Contents {
		if c == nil {
			continue
		}
		texts = append(texts, attachResource(&out, c)...)
	}
	out.Title = uri
	out.Content = session.TextContent(strings.ToValidUTF8(strings.Join(texts, "\n\n"), "\uFFFD"))
	return out, nil
}
