package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/cairn-dev/cairn/internal/fileuri"
)

const (
	initializeTime = 45 * time.Second
	shutdownTime   = time.Second
	maxMessages    = 10 // kept of what a server logs
)

// client is a running language server of one root. Safe for concurrent use.
type client struct {
	server         Server
	root           string
	initialization jsontext.Value
	endpoint       *endpoint
	conn           *conn
	began          time.Time
	capabilities   capabilities // set before the client is shared
	diagnostics    *diagnosticTable
	documents      documents

	mu            sync.Mutex        // guards all below
	registrations map[string]string // identifiers of registered textDocument/diagnostic, by registration
	messages      []string          // the last errors that the server logged
	baseline      errorCounts       // errors before a change whose consequences are not all known; nil without one
	hasBaseline   bool              // the server has answered once, so that its errors before a change are known
}

// newClient connects to a server and initializes it. ctx bounds that. It takes over the endpoint.
func newClient(ctx context.Context, s Server, l launch, e *endpoint) (*client, error) {
	c := &client{
		server: s, root: l.dir, initialization: l.initialization, endpoint: e, began: time.Now(),
		diagnostics: newDiagnosticTable(), registrations: map[string]string{},
	}
	c.documents.init()
	c.conn = newConn(e, c)
	if err := c.initialize(ctx); err != nil {
		c.kill()
		return nil, c.describeEnd(err)
	}
	return c, nil
}

func (c *client) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx, initializeTime, fmt.Errorf("it did not initialize within %v", initializeTime),
	)
	defer cancel()
	result, err := c.conn.call(ctx, "initialize", initializeParams(os.Getpid(), c.root, c.initialization))
	if err != nil {
		return err
	}
	if c.capabilities, err = decodeCapabilities(result); err != nil {
		return fmt.Errorf("its capabilities are invalid: %.200w", err)
	}
	if err := c.conn.notify("initialized", object{}); err != nil {
		return err
	}
	if len(c.initialization) > 0 {
		return c.conn.notify("workspace/didChangeConfiguration", object{"settings": c.initialization})
	}
	return nil
}

// describeEnd returns why a server failed: the reason found here, else what it wrote last.
func (c *client) describeEnd(err error) error {
	// The reason that was found here, or that the server gave.
	if cause := c.conn.stream.readCause(); cause != nil {
		return cause
	}
	if err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
		return err
	}
	// The last line that it wrote, or the last error that it logged.
	text := strings.TrimSpace(c.endpoint.readErrors())
	text = text[strings.LastIndexByte(text, '\n')+1:]
	c.mu.Lock()
	if n := len(c.messages); n > 0 {
		text = cmp.Or(text, c.messages[n-1])
	}
	c.mu.Unlock()
	if text == "" {
		return errors.New("it ended")
	}
	return fmt.Errorf("it ended: %s", cleanText(text, maxReason))
}

// shutDown asks the server to end, and ends it.
func (c *client) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if _, err := c.conn.call(ctx, "shutdown", nil); err == nil {
		_ = c.conn.notify("exit", nil)
		select {
		case <-c.conn.ended():
		case <-ctx.Done():
		}
	}
	c.kill()
}

// kill ends the server with everything that it started.
func (c *client) kill() {
	c.conn.close()
	c.endpoint.close()
}

// handleNotification takes diagnostics and errors that the server sends.
func (c *client) handleNotification(method string, params jsontext.Value) {
	switch method {
	// Diagnostics, of the newest version if the server names none.
	case "textDocument/publishDiagnostics":
		var in struct {
			URI         string           `json:"uri"`
			Version     *int             `json:"version"`
			Diagnostics []jsontext.Value `json:"diagnostics"`
		}
		if json.Unmarshal(params, &in, lenient()) != nil {
			return
		}
		path, ok := fileuri.Parse(in.URI)
		if !ok {
			return
		}
		version := -1
		if in.Version != nil {
			version = *in.Version
		}
		c.diagnostics.put(path, decodeDiagnostics(in.Diagnostics), version, false)
	// Errors, which may say why it ends.
	case "window/logMessage", "window/showMessage":
		var in struct {
			Type    int    `json:"type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(params, &in, lenient()) != nil || in.Type != severityError {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.messages = append(c.messages[max(len(c.messages)-maxMessages+1, 0):], cleanText(in.Message, maxReason))
	}
}

// handleRequest answers what the server asks. Files are never changed for it.
func (c *client) handleRequest(method string, params jsontext.Value) (any, *jsonrpc2.Error) {
	switch method {
	case "workspace/configuration":
		return c.selectConfiguration(params), nil
	case "workspace/workspaceFolders":
		return workspaceFolders(c.root), nil
	case "workspace/applyEdit":
		return object{"applied": false, "failureReason": "files are changed by tools only"}, nil
	case "window/showDocument":
		return object{"success": false}, nil
	case "client/registerCapability", "client/unregisterCapability":
		c.register(params)
		return nil, nil
	case "window/workDoneProgress/create", "window/showMessageRequest", "workspace/diagnostic/refresh",
		"workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh",
		"workspace/inlineValue/refresh", "workspace/foldingRange/refresh":
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not supported: " + cleanText(method, 100)}
}

// maxItems bounds what a server asks for, or registers, at once.
const maxItems = 200

// selectConfiguration returns the sections of the initialization options that the server asks for, null for others.
func (c *client) selectConfiguration(params jsontext.Value) []any {
	var in struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	_ = json.Unmarshal(params, &in, lenient())
	var settings any
	if len(c.initialization) > 0 {
		_ = json.Unmarshal(c.initialization, &settings)
	}
	out := []any{}
	for _, item := range in.Items[:min(len(in.Items), maxItems)] {
		value := settings
		for name := range strings.SplitSeq(item.Section, ".") {
			if name != "" {
				members, _ := value.(map[string]any)
				value = members[name]
			}
		}
		out = append(out, value)
	}
	return out
}

// register records registrations of textDocument/diagnostic and forgets those that end. Files are watched by the
// location, and all changes are sent, so that patterns are not needed.
func (c *client) register(params jsontext.Value) {
	type registration struct {
		ID      string         `json:"id"`
		Method  string         `json:"method"`
		Options jsontext.Value `json:"registerOptions"`
	}
	var in struct {
		Registrations   []registration `json:"registrations"`
		Unregistrations []registration `json:"unregisterations"` // the protocol's spelling
	}
	if json.Unmarshal(params, &in, lenient()) != nil {
		return
	}
	c.mu.Lock()
	for _, r := range in.Registrations {
		if r.Method == "textDocument/diagnostic" && len(c.registrations) < maxItems {
			c.registrations[r.ID] = decodeIdentifier(r.Options)
		}
	}
	for _, r := range in.Unregistrations {
		delete(c.registrations, r.ID)
	}
	c.mu.Unlock()
	c.diagnostics.notifyWaiters()
}
