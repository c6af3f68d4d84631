package host

import (
	"cmp"
	"net"
	"slices"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/server"
)

// address is where a server listens and who is told.
type address struct {
	hostname string
	port     int
	origins  []string
	mdns     string       // the name for the local network; "" announces nothing
	listener net.Listener // open already; nil opens one
	note     string       // why nothing is announced although somebody asked for it
}

// addressOf is what the command says, and where it says nothing, what the user's configuration does. As in OpenCode, who
// asks to be found in the network without naming an address listens on all, pages of both lists may call, and what only this
// machine reaches is not announced.
func addressOf(o cli.ServeOptions, c config.Server) *address {
	mdns := c.MDNS
	if o.MDNS != nil {
		mdns = *o.MDNS
	}
	anywhere := ""
	if mdns {
		anywhere = "0.0.0.0"
	}
	at := &address{
		hostname: cmp.Or(o.Hostname, c.Hostname, anywhere, "127.0.0.1"), port: int(c.Port), origins: slices.Concat(c.Cors, o.Origins),
	}
	if o.Port != nil {
		at.port = *o.Port
	}
	switch {
	case !mdns:
	case server.Loopback(at.hostname):
		at.note = "not announced in the local network: only this machine reaches " + at.hostname
	default:
		at.mdns = cmp.Or(o.MDNSDomain, c.MDNSDomain, server.MDNSDomain)
	}
	return at
}

// listenerOf is where a server listens and whom it lets in; without an address only on its socket.
func listenerOf(o cli.ServeOptions, at *address) server.Config {
	c := server.Config{OpenLocal: o.OpenLocal, User: config.Getenv(o.Env, "SERVER_USERNAME"), Password: config.Getenv(o.Env, "SERVER_PASSWORD")}
	if at != nil {
		c.TCP, c.Hostname, c.Port, c.Listener, c.Origins, c.MDNS = true, at.hostname, at.port, at.listener, at.origins, at.mdns
	}
	return c
}

// logging is the environment in which the log has the configured level, unless the environment itself says one.
func logging(getenv func(string) string, level string) func(string) string {
	if level == "" || config.Getenv(getenv, "LOG") != "" {
		return getenv
	}
	return config.Setenv(getenv, "LOG", level)
}
