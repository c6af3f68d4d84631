package host

import (
	"cmp"
	"net"
	"os"
	"slices"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/server"
)

// listenAddress is the address at which a server listens, and its announcement.
type listenAddress struct {
	hostname string
	port     int
	origins  []string
	mdns     string       // name in the local network; "" is not announced
	listener net.Listener // nil opens one
	note     string       // why the server is not announced although that is configured
}

// resolveAddress returns the address of the command line, completed by the user's configuration. As in OpenCode, mDNS
// without a hostname listens on all addresses, allowed origins of both add up, and a loopback address is not announced.
func resolveAddress(o client.ServeOptions, c config.Server) *listenAddress {
	mdns := c.MDNS
	if o.MDNS != nil {
		mdns = *o.MDNS
	}
	fallback := "127.0.0.1"
	if mdns {
		fallback = "0.0.0.0"
	}
	at := &listenAddress{
		hostname: cmp.Or(o.Hostname, c.Hostname, fallback), port: int(c.Port),
		origins: slices.Concat(c.Cors, o.Origins),
	}
	if o.Port != nil {
		at.port = *o.Port
	}
	switch {
	case !mdns:
	case server.IsLoopback(at.hostname):
		at.note = "not announced in the local network: only this machine can reach " + at.hostname
	default:
		at.mdns = cmp.Or(o.MDNSDomain, c.MDNSDomain, server.MDNSDomain)
	}
	return at
}

// listenerConfig returns where a server listens and whom it lets in. Without an address it listens on its Unix socket
// only.
func listenerConfig(o client.ServeOptions, at *listenAddress) server.Config {
	c := server.Config{
		OpenLocal: o.OpenLocal,
		User:      config.Getenv(o.Env, "SERVER_USERNAME"), Password: config.Getenv(o.Env, "SERVER_PASSWORD"),
		ToolProcess: func(pid int) bool { return pid == os.Getpid() }, // its own requests are of pages and tools
	}
	if at != nil {
		c.TCP, c.Hostname, c.Port, c.Listener = true, at.hostname, at.port, at.listener
		c.Origins, c.MDNS = at.origins, at.mdns
	}
	return c
}

// withLogLevel returns an environment with the configured log level, unless the environment sets one itself.
func withLogLevel(getenv func(string) string, level string) func(string) string {
	if level == "" || config.Getenv(getenv, "LOG") != "" {
		return getenv
	}
	return config.Setenv(getenv, "LOG", level)
}
