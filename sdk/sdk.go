// Package sdk is the client of a cairn server for programs in Go: it creates sessions, prompts them, follows their work
// and answers what they ask.
//
//	client, err := sdk.Dial(ctx, "", nil) // the server of this user on this machine
//	if err != nil { … }
//	defer client.Close()
//	session, err := client.CreateSession(ctx, &sdk.SessionOptions{Directory: "/src/project"})
//	if err != nil { … }
//	result, err := session.Do(ctx, sdk.Prompt{Text: "What does this project do?"})
//	if err != nil { … }
//	fmt.Println(result.Text)
//
// A session is durable: what a method has acknowledged survives the end of the program and of the server. A program
// that ends leaves the work of its sessions to the server; to stop it, call Session.Interrupt.
//
// Every method takes a context first, returns when that ends, and is safe for concurrent use. Errors of the server are
// *Error; the end of a context is returned as its cause. No goroutine outlives the call or the iterator that needs it.
//
// Package embed runs the server within the program instead, and package cairntest helps with tests.
package sdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/discovery"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// DialOptions are the options of Dial. The zero value is that of a program on the user's own machine.
type DialOptions struct {
	// Token is an access token (cairn token create). Without one, Username and Password are sent, if there is a password.
	// A server of the same user on this machine needs neither; with one of them, the program has the rights of that.
	Token    string
	Username string // "" is "opencode"
	Password string
	// Directory is where sessions are created that name no directory, and where agents and models are looked up: an
	// absolute path on the server's machine. "" is the working directory for a server of this user on this machine, else
	// the server's own directory.
	Directory string
	// Home is the directory that CAIRN_HOME names, absolute. "" is the environment's; without that variable cairn uses
	// the XDG base directories.
	Home string
	// Transport sends the requests to an HTTP address, instead of http.DefaultTransport; nil for that. A redirect is
	// not followed.
	Transport http.RoundTripper
}

// Client is a connection to a server. Create one with Dial. It is safe for concurrent use.
type Client struct {
	api   *api.Client
	close func() // releases its connections
	life  context.Context
	end   context.CancelFunc // ends life; only Close calls it
	ids   session.IDs
}

// dialTimeout bounds the wait for the first answer of a server.
const dialTimeout = 10 * time.Second

// Dial connects to a server and checks that it answers. The address is
//
//	""                      the server of this user on this machine, as cairn serve announces it
//	unix:///path/to/socket  a server at that Unix socket
//	http://host:port        a server in the network; https as well
//
// A nil o is the zero value. If the address is "" and no server runs, the error is ErrNoServer. On Linux a program that
// is connected by a socket cannot be traced or dumped by other processes of the user (PR_SET_DUMPABLE), since its
// connection has the user's rights.
func Dial(ctx context.Context, address string, o *DialOptions) (*Client, error) {
	if o == nil {
		o = &DialOptions{}
	}
	if o.Directory != "" && !filepath.IsAbs(o.Directory) {
		return nil, newInvalid("Directory", "the directory %q is not an absolute path", o.Directory)
	}
	if o.Home != "" && !filepath.IsAbs(o.Home) {
		return nil, newInvalid("Home", "the home %q is not an absolute path", o.Home)
	}
	c, err := newClient(ctx, address, o)
	if err != nil {
		return nil, publicError(err)
	}
	c.life, c.end = context.WithCancel(context.Background())
	// The first answer says whether this is a cairn server.
	silence := &Error{Code: CodeUnreachable, Message: fmt.Sprintf(
		"the server at %s does not answer within %s", formatAddress(address), dialTimeout,
	)}
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, silence)
	defer cancel()
	health, err := c.api.Health(ctx)
	if err == nil && health.Directory == "" { // OpenCode's answer has no such field
		err = &Error{Code: CodeUnreachable, Message: "the server at " + formatAddress(address) + " is not a cairn server"}
	}
	if err != nil {
		return nil, errors.Join(publicError(err), c.Close())
	}
	return c, nil
}

// formatAddress returns an address for messages, without its user and password.
func formatAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an unknown address"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return cmp.Or(shown.String(), "the socket of this user")
}

// newClient returns a client of the address, which was not called yet.
func newClient(ctx context.Context, address string, o *DialOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, newInvalid("address", "the address is not a URL; use %s", addressForms)
	}
	switch {
	case address == "":
		data, err := findData(o.Home)
		if err != nil {
			return nil, err
		}
		return newLocalClient(ctx, o, func() (string, error) { return findSocket(data) })
	case u.Scheme == "unix" && u.Path != "":
		return newLocalClient(ctx, o, func() (string, error) { return u.Path, nil })
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return newNetworkClient(ctx, u, o)
	default:
		return nil, newInvalid("address", "%q is not an address; use %s", formatAddress(address), addressForms)
	}
}

// addressForms says what an address can be.
const addressForms = `http://host:port, unix:///path or ""; %-encode special characters of a password`

// findData returns the data directory of a home.
func findData(home string) (string, error) {
	env := os.Getenv
	if home != "" {
		env = config.Setenv(os.Getenv, "HOME", home)
	}
	dirs, err := config.FindDirectories(env)
	return dirs.Data, err
}

// findSocket returns the socket of the server that runs for a data directory.
func findSocket(data string) (string, error) {
	found, err := discovery.Read(data)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && found.Socket == "":
		return "", fmt.Errorf("%w for %s: start one with cairn serve, or open the data with package embed", ErrNoServer, data)
	case err != nil:
		return "", err
	}
	return found.Socket, nil
}

// newLocalClient returns a client of a server at a socket. If the server ends, its successor is found again.
func newLocalClient(ctx context.Context, o *DialOptions, find func() (string, error)) (*Client, error) {
	directory := o.Directory
	if directory == "" {
		var err error
		if directory, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("find the working directory: %w", err)
		}
	}
	if err := checkSocket(ctx, find); err != nil {
		return nil, err
	}
	t := follow.NewReconnectTransport(func(context.Context) (*client.Connection, error) {
		socket, err := find()
		if err != nil { // until the next server has announced itself
			return nil, &api.TransportError{Op: "find the server", Err: err}
		}
		t := discovery.NewTransport(socket)
		return &client.Connection{
			API:   &api.Client{HTTP: &http.Client{Transport: t}, Base: "http://localhost"},
			Close: func(context.Context) error { t.CloseIdleConnections(); return nil },
		}, nil
	})
	return &Client{
		api: &api.Client{
			HTTP: &http.Client{Transport: t}, Base: "http://localhost", Directory: directory, IsLocal: true, Auth: newAuth(o),
			Timezone: api.FindTimeZone(os.Getenv),
		},
		close: func() {
			if conn := t.Release(); conn != nil {
				_ = conn.Close(context.Background()) // it only closes idle connections
			}
		},
	}, nil
}

// checkSocket returns ErrNoServer if no process listens at the socket.
func checkSocket(ctx context.Context, find func() (string, error)) error {
	socket, err := find()
	if err != nil {
		return err
	}
	conn, _, err := discovery.DialOwner(ctx, socket)
	if _, untrusted := errors.AsType[*session.Error](err); untrusted {
		return err
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w at %s: %w", ErrNoServer, socket, err)
	}
	return conn.Close()
}

// newNetworkClient returns a client of a server at a URL. The server of this user on this machine is called over its
// socket, where it knows the user without credentials.
func newNetworkClient(ctx context.Context, u *url.URL, o *DialOptions) (*Client, error) {
	auth := newAuth(o)
	if u.User != nil {
		auth.User = u.User.Username()
		auth.Password, _ = u.User.Password()
	}
	base := strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/")
	if auth == (api.Auth{}) && o.Transport == nil {
		if data, err := findData(o.Home); err == nil {
			socket, err := discovery.FindSocket(ctx, data, base)
			if err != nil {
				return nil, err
			}
			if socket != "" {
				return newLocalClient(ctx, o, func() (string, error) { return socket, nil })
			}
		}
	}
	transport := o.Transport
	done := func() {}
	if transport == nil {
		own := newTransport()
		transport, done = own, own.CloseIdleConnections
	}
	// Credentials are for this server only.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		api: &api.Client{
			HTTP: &http.Client{Transport: transport, CheckRedirect: noRedirect}, Base: base, Auth: auth,
			Directory: o.Directory, Timezone: api.FindTimeZone(os.Getenv),
		},
		close: done,
	}, nil
}

// newAuth returns the credentials of the options.
func newAuth(o *DialOptions) api.Auth {
	return api.Auth{Secret: o.Token, User: o.Username, Password: o.Password}
}

// newTransport returns a transport as http.DefaultTransport is one, unless the program has replaced that by another
// type.
func newTransport() *http.Transport {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
}

// Close ends the connection. Calls that run end with an error, as do later ones. Sessions at work go on at the server.
// It may be called more than once.
func (c *Client) Close() error {
	c.end()
	c.close()
	return nil
}
