package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// serverFlags name the cairn server that a command is a client of. Without a URL it is the cairn of this machine.
type serverFlags struct {
	url, user, password string
	directory           string // on the server's machine; "" is the server's own
	detach              bool   // work survives this process
}

func (f *serverFlags) addCredentials(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(
		&f.password,
		"password",
		"p",
		"",
		"log in to the server with `PASSWORD` (default: $CAIRN_SERVER_PASSWORD)",
	)
	fs.StringVarP(
		&f.user,
		"username",
		"u",
		"",
		"log in to the server as the user `NAME` (default: $CAIRN_SERVER_USERNAME, or opencode)",
	)
}

// newClient returns a client of the server. Credentials in the URL win over those of the flags. Redirects are not
// followed: the password is for this server.
func (f *serverFlags) newClient(getenv func(string) string) (*api.Client, error) {
	f.url = addScheme(f.url)
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, cli.UsageErrorf(
			"%q is not the URL of a server; use a form like http://localhost:4096",
			terminal.FirstLine(f.url, 200),
		)
	}
	auth := api.Auth{User: f.user, Password: f.password}
	if auth.User == "" {
		auth.User = config.Getenv(getenv, "SERVER_USERNAME")
	}
	if auth.Password == "" {
		auth.Password = config.Getenv(getenv, "SERVER_PASSWORD")
	}
	if u.User != nil {
		auth.User = u.User.Username()
		auth.Password, _ = u.User.Password()
		u.User = nil
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &api.Client{
		HTTP: &http.Client{CheckRedirect: noRedirect}, Base: strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/"),
		Auth: auth, Directory: f.directory, Timezone: api.FindTimeZone(getenv),
	}, nil
}

// addScheme returns HOST:PORT as a URL, and other text unchanged.
func addScheme(text string) string {
	host, port, err := net.SplitHostPort(text)
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || host == "" {
		return text
	}
	return "http://" + text
}

// publicURL is the URL without the credentials in it.
func (f *serverFlags) publicURL() string {
	u, err := url.Parse(f.url)
	if err != nil || f.url == "" {
		return ""
	}
	u.User = nil
	return terminal.FirstLine(u.String(), 200)
}

// connect returns a connection to the server, after checking that it is a cairn server. The client's directory is the
// one in which sessions are created. A server of this user on this machine is called over its socket, where other
// processes of the user cannot take over the connection.
func (f *serverFlags) connect(ctx context.Context, inv *cli.Invocation) (*client.Connection, error) {
	c, err := f.newClient(inv.Env)
	if err != nil {
		return nil, err
	}
	o, err := inv.HostOptions("")
	if err != nil {
		return nil, err
	}
	own, err := inv.Host.OwnTransport(ctx, o, c.Base)
	if err != nil {
		return nil, err
	}
	if own != nil {
		c.HTTP.Transport = own
	}
	health, err := c.Health(ctx)
	if err != nil {
		return nil, connectError(c.Base, err)
	}
	if health.Directory == "" { // OpenCode's answer has no such field
		return nil, notCairn(c.Base)
	}
	if c.Directory == "" {
		c.Directory = health.Directory
	}
	return &client.Connection{API: c, Close: func(context.Context) error { return nil }}, nil
}

// connectError explains why the server at the URL cannot be used.
func connectError(base string, err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == session.CodeDenied && e.Kind == api.KindAuth {
		problem := "requires a password or token"
		if e.Reason == caller.ReasonWrong {
			problem = "rejects the password or token: it is wrong, expired or revoked"
		}
		return cli.NewExitError(
			cli.ExitFailure,
			fmt.Errorf("the server at %s %s", terminal.FirstLine(base, 200), problem),
			"Give the server's password, or a token of cairn token create, with --password or in CAIRN_SERVER_PASSWORD.",
		)
	}
	e, ok := errors.AsType[*api.TransportError](err)
	switch {
	case !ok:
		return err
	case e.Foreign:
		return notCairn(base)
	default:
		return cli.NewExitError(
			cli.ExitFailure,
			fmt.Errorf("cannot reach the server at %s: %s", terminal.FirstLine(base, 200), e.Reason()),
			"Check the URL, or start a server there with: cairn serve.",
		)
	}
}

func notCairn(base string) error {
	return cli.NewExitError(
		cli.ExitFailure,
		fmt.Errorf("the server at %s is not a cairn server", terminal.FirstLine(base, 200)),
		"Start one there with: cairn serve. To use an OpenCode server, run OpenCode's own command: "+
			"opencode attach "+terminal.FirstLine(base, 200),
	)
}
