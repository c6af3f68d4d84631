// Command mcpclient is a client for MCP's conformance suite: it connects to the server at the address in its last
// argument with cairn's own client, logs in if that is needed, and calls every tool and reads every prompt.
package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

func main() {
	if err := run(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// client is a location with the one server.
type client struct {
	config   config.MCP
	logins   *mcpauth.Logins
	set      *mcp.Set
	tools    *mcp.Tools
	registry *tool.Registry
}

// run tests the server at an address.
func run(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcpclient")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c := &client{
		config: readConfig(address), registry: tool.NewRegistry(tool.Config{}),
		logins: mcpauth.New(dir, func(string) string { return "1" }),
	}
	pool := mcp.NewPool(mcp.Options{Version: "test", Login: func(name string, c2 config.MCP) sdkauth.OAuthHandler {
		return c.logins.Handler(name, c2)
	}})
	defer pool.Close()
	c.set = pool.Open(mcp.Location{Directory: dir, Servers: map[string]config.MCP{"test": c.config}})
	c.tools = mcp.NewTools(c.set, c.registry)
	if err := c.connect(ctx); err != nil {
		return err
	}
	return c.useAll(ctx)
}

// readConfig returns the configuration of the server, with the client that the suite has registered, if it has one.
func readConfig(address string) config.MCP {
	c := config.MCP{Type: "remote", URL: address}
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	text := cmp.Or(os.Getenv("MCP_CONFORMANCE_CONTEXT"), "{}")
	if json.Unmarshal([]byte(text), &given) == nil && given.ClientID != "" {
		c.OAuth, _ = json.Marshal(map[string]string{"clientId": given.ClientID, "clientSecret": given.ClientSecret})
	}
	return c
}

// connect connects the server, after a login if it needs one.
func (c *client) connect(ctx context.Context) error {
	if err := c.set.Connect(ctx, "test"); err != nil {
		return err
	}
	state := c.set.States()[0]
	if state.Status == mcp.NeedsAuth {
		if err := c.logIn(ctx); err != nil {
			return err
		}
		if err := c.set.Connect(ctx, "test"); err != nil {
			return err
		}
		state = c.set.States()[0]
	}
	if state.Status != mcp.Connected {
		return fmt.Errorf("the server is %s: %s", state.Status, state.Error)
	}
	c.tools.Sync()
	return nil
}

// logIn logs in with a browser that allows everything.
func (c *client) logIn(ctx context.Context) error {
	flow, err := c.logins.Start(ctx, "test", c.config)
	if err != nil {
		return err
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(flow.URL)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	return c.logins.Finish(ctx, "test", c.config, resp.Header.Get("Location"))
}

// useAll calls every tool and reads every prompt. A call that needs more rights is made once more after a login.
func (c *client) useAll(ctx context.Context) error {
	for _, d := range c.registry.TakeSnapshot(nil).Definitions() {
		if strings.Contains(d.Name, "mcp_resource") {
			continue
		}
		done := c.call(ctx, d.Name)
		if done.Error != nil && c.set.States()[0].Status != mcp.Connected || isRefused(done) {
			if err := c.logIn(ctx); err != nil {
				return err
			}
			if err := c.connect(ctx); err != nil {
				return err
			}
			done = c.call(ctx, d.Name)
		}
		fmt.Printf("%s: %+v\n", d.Name, done)
	}
	for _, p := range c.set.Commands() {
		text, err := c.set.ExpandCommand(ctx, p, nil)
		fmt.Printf("%s: %q %v\n", p.Name, text, err)
	}
	return nil
}

func isRefused(s tool.Settlement) bool {
	return s.Error != nil && strings.Contains(s.Error.Message, "cairn mcp auth")
}

// call calls a tool with numbers for its members, and accepts what it asks.
func (c *client) call(ctx context.Context, name string) tool.Settlement {
	input := `{}`
	if strings.Contains(name, "add") {
		input = `{"a":5,"b":3}`
	}
	return c.registry.TakeSnapshot(nil).Settle(ctx, tool.Call{
		Name: name, Input: jsontext.Value(input), CallID: "call",
		Ask: func(context.Context, tool.Request) error { return nil },
		Question: func(_ context.Context, qs []session.Question) ([][]string, error) {
			return make([][]string, len(qs)), nil
		},
	})
}
