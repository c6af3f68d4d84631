package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// connectTimeout bounds an attempt to connect a server that sets no timeout: a program that npx installs first takes
// long.
const connectTimeout = 30 * time.Second

// timeout bounds the connecting of the server and each list of what it offers. False, for no limit, is the default.
func (s *server) timeout() time.Duration {
	return cmp.Or(max(0, time.Duration(s.config.Timeout)), s.limit, connectTimeout)
}

// connect returns the session with the server and the process of a local one, also with an error. ctx bounds the
// connecting; the caller ends the connection.
func (s *server) connect(ctx context.Context, client *sdk.Client) (*sdk.ClientSession, *process.Child, error) {
	if s.config.Type != "remote" {
		return s.connectLocal(ctx, client)
	}
	server, err := url.Parse(s.config.URL)
	if err != nil || server.Host == "" || server.Scheme != "https" && server.Scheme != "http" {
		return nil, nil, fmt.Errorf("its address %q is not one of http or https", webcache.ShowAddress(s.config.URL))
	}
	var unauthorized atomic.Bool
	transports := s.listRemote(s.newClient(server, &unauthorized))
	opened, err := connectFirst(ctx, client, transports, unauthorized.Load)
	if err != nil && unauthorized.Load() {
		err = s.explainLogin(err)
	}
	return opened, nil, err
}

// explainLogin returns what a person can do about a server that refused a request for want of a login.
func (s *server) explainLogin(err error) error {
	if login, ok := errors.AsType[*LoginError](err); ok {
		return login
	}
	if s.login == nil {
		return &LoginError{NeedsAuth, "it refuses requests without a login; set its headers in the configuration"}
	}
	return NeedLogin(s.name, "")
}

// handshakeVersion is the newest version of the protocol that begins with initialize. Local servers are asked for it
// first: many end, or are silent, when a request of a later version comes before.
const handshakeVersion = "2025-11-25"

// connectLocal starts a local server and returns the session with it. A server that refuses initialize is started again
// and asked for the newest version.
func (s *server) connectLocal(ctx context.Context, client *sdk.Client) (*sdk.ClientSession, *process.Child, error) {
	for version := handshakeVersion; ; version = "" {
		child, err := s.startLocal()
		if err != nil {
			return nil, nil, err
		}
		transport := &sdk.IOTransport{Reader: newMessageReader(child.Out), Writer: child.In, MaxLineLength: -1}
		opened, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if _, refused := errors.AsType[*jsonrpc.Error](err); !refused || version == "" {
			return opened, child, err
		}
		_ = child.Close()
	}
}

// connectFirst connects over the first transport that works. They share the time of ctx.
func connectFirst(
	ctx context.Context, client *sdk.Client, all []sdk.Transport, isFinal func() bool,
) (opened *sdk.ClientSession, err error) {
	var failures []error
	for i, t := range all {
		part := ctx
		if deadline, ok := ctx.Deadline(); ok && i < len(all)-1 {
			var cancel context.CancelFunc
			part, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(all)-i))
			defer cancel()
		}
		if opened, err = client.Connect(part, t, nil); err == nil {
			return opened, nil
		}
		failures = append(failures, err)
		if isFinal() || ctx.Err() != nil {
			break
		}
	}
	return nil, failures[0] // the newest protocol says best what is wrong
}
