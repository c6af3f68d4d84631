package mcp

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 roots and logging are deprecated in the protocol of 2026-07-28; servers of today use them

// newSDKClient returns the client that a server talks to. changed gets a value when a list of the server has changed.
func (s *server) newSDKClient(changed chan<- struct{}) *sdk.Client {
	// A change that is noted while another one waits adds nothing.
	note := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	// What the server may ask for, and what it tells.
	client := sdk.NewClient(&sdk.Implementation{Name: "cairn", Version: s.set.pool.options.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{
			RootsV2: &sdk.RootCapabilities{},
			Elicitation: &sdk.ElicitationCapabilities{
				Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
			},
		},
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { note() },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { note() },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { note() },
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			s.set.pool.options.Log.Debug("an MCP server logs", "server", s.name, "level", string(r.Params.Level),
				"message", describeError(fmt.Errorf("%v", r.Params.Data)))
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.calls.noteProgress(r.Params)
		},
		ElicitationHandler: s.elicit,
	})
	// Check what comes before the SDK reads it, and name the directory as the only root.
	client.AddReceivingMiddleware(rejectInvalid)
	client.AddRoots(&sdk.Root{Name: filepath.Base(s.set.directory), URI: fileURI(s.set.directory)})
	return client
}

// rejectInvalid answers messages that the protocol does not allow with an error: the SDK reads the parameters of some
// notices without looking whether there are any.
func rejectInvalid(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		needsParams := strings.HasPrefix(method, "notifications/") && !strings.HasSuffix(method, "/list_changed")
		if p := reflect.ValueOf(r.GetParams()); needsParams && (!p.IsValid() || p.Kind() == reflect.Pointer && p.IsNil()) {
			return nil, fmt.Errorf("the message %.80q has no parameters", method)
		}
		defer func() {
			if p := recover(); p != nil {
				result, err = nil, fmt.Errorf("the message %.80q is invalid: %v", method, p)
			}
		}()
		return next(ctx, method, r)
	}
}

// closeSession ends a connection. limit bounds the wait of the SDK for requests that are worked on.
func closeSession(session *sdk.ClientSession, limit time.Duration) {
	ended := make(chan struct{})
	go func() { defer close(ended); _ = session.Close() }()
	select {
	case <-ended:
	case <-time.After(limit):
	}
}

// fileURI returns the file: URI of a path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
