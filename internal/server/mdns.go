package server

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/hashicorp/mdns"

	"github.com/cairn-dev/cairn/internal/session"
)

// MDNSDomain is the name under which OpenCode's clients look for a server in their network.
const MDNSDomain = "opencode.local"

// checkMDNSName refuses names that cannot be announced: a name has one or more labels below .local.
func checkMDNSName(domain string) error {
	labels := strings.Split(domain, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 ||
			strings.Trim(l, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return session.Errorf(session.CodeInvalid,
				"%q is not a valid name for the local network; use a name like %s", session.ClipText(domain, 80), MDNSDomain).
				At("mdnsDomain")
		}
	}
	if len(labels) < 2 || labels[len(labels)-1] != "local" || len(domain) > 253 {
		return session.Errorf(session.CodeInvalid, "%q is not below .local; write it like %s", session.ClipText(domain, 80),
			MDNSDomain).
			At("mdnsDomain")
	}
	return nil
}

// announceMDNS answers questions of the local network for the server: as the web service opencode-PORT at the
// domain. It returns a function that stops it.
func announceMDNS(domain, hostname string, port int, logger *slog.Logger) (end func(), err error) {
	zone, err := newMDNSZone(domain, hostname, port)
	if err != nil {
		return nil, err
	}
	quiet := slog.NewLogLogger(logger.Handler(), slog.LevelDebug) // it logs malformed questions of other machines
	s, err := mdns.NewServer(&mdns.Config{Zone: zone, Logger: quiet})
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	return func() { _ = s.Shutdown() }, nil // it never fails
}

func newMDNSZone(domain, hostname string, port int) (*mdns.MDNSService, error) {
	ips, err := reachableAddresses(hostname)
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	zone, err := mdns.NewMDNSService(
		fmt.Sprintf("opencode-%d", port),
		"_http._tcp",
		"",
		domain+".",
		port,
		ips,
		[]string{"path=/"},
	)
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	return zone, nil
}

// reachableAddresses returns where other machines reach hostname: its own address, or those of this machine if it is
// unspecified.
func reachableAddresses(hostname string) ([]net.IP, error) {
	if ip := net.ParseIP(hostname); ip == nil || !ip.IsUnspecified() {
		return net.LookupIP(hostname)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var ips []net.IP
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			ips = append(ips, n.IP)
		}
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("this machine has no address in a network")
	}
	return slices.Clip(ips), nil
}
