package web

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/cairn-dev/cairn/internal/tool"
)

const maxURL = 8 << 10

// parseTarget parses a URL into the form that the permission request shows and the client fetches: http or https, no
// user, a normalized host. It refuses addresses that need no DNS query to be refused, before permission is asked for,
// but not those that a person may allow.
func (g *guard) parseTarget(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, tool.Failf("The URL is %d bytes long, the limit is %d.", len(raw), maxURL)
	}
	// Accept only http and https, without credentials.
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil, tool.Failf("The URL is invalid.")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, tool.Failf("The URL must begin with http:// or https://.")
	case u.User != nil:
		return nil, tool.Failf("The URL contains a user name or a password, which are not sent.")
	}
	// Normalize the host. Localhost is treated as the address that it stands for.
	host, err := normalizeHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	a, err := netip.ParseAddr(host)
	if err != nil && isLocalhost(host) {
		a, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	// Refuse a forbidden address now. A local one remains: the permission request is about it.
	if err == nil {
		err := g.check(context.Background(), host, a, portOf(u))
		if _, askable := errors.AsType[*localAddressError](err); err != nil && !askable {
			return nil, err
		}
	}
	// Assemble the URL again from its checked parts, without the fragment, which is never sent.
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, tool.Failf("%q is not a valid port.", port)
		}
		host += ":" + port
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	if u.Path == "" { // a pattern for all pages of a host must match its first page, too
		u.Path = "/"
	}
	return u, nil
}

// portOf returns the port of a URL, also that of its scheme.
func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func isInvalidHostRune(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.", r)
}

func isLocalhost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// normalizeHost returns a host in lower-case ASCII, and an IPv4 address in dotted decimal form.
func normalizeHost(host string) (string, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", tool.Failf("%q is a link-local address.", host)
		}
		return a.Unmap().String(), nil
	}
	names := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false)) // host names with "_" exist
	ascii, err := names.ToASCII(host)
	if err != nil || strings.Trim(ascii, ".") == "" || strings.ContainsFunc(ascii, isInvalidHostRune) ||
		strings.Contains(ascii, "..") {
		return "", tool.Failf("%q is not a valid host name.", host)
	}
	labels := strings.Split(strings.TrimSuffix(ascii, "."), ".")
	if !isNumericLabel(labels[len(labels)-1]) {
		return ascii, nil
	}
	a, ok := parseLegacyIPv4(labels)
	if !ok {
		return "", tool.Failf("%q is not a valid host name.", host)
	}
	return a.String(), nil
}

// isNumericLabel reports whether a host with this last label is an address.
func isNumericLabel(label string) bool {
	_, err := parseAddressPart(label)
	return err == nil || strings.Trim(label, "0123456789") == ""
}

// parseAddressPart parses a part of an address in decimal, octal (0…) or hexadecimal (0x…).
func parseAddressPart(s string) (uint64, error) {
	rest, isHex := strings.CutPrefix(s, "0x")
	switch {
	case isHex && rest == "":
		return 0, nil
	case isHex:
		return strconv.ParseUint(rest, 16, 32)
	case len(s) > 1 && s[0] == '0':
		return strconv.ParseUint(s[1:], 8, 32)
	default:
		return strconv.ParseUint(s, 10, 32)
	}
}

// parseLegacyIPv4 parses the address formats of inet_aton: one to four parts, of which the last fills the remaining
// bytes.
func parseLegacyIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, l := range labels {
		n, err := parseAddressPart(l)
		last := i == len(labels)-1
		switch {
		case err != nil, !last && n > 0xff:
			return netip.Addr{}, false
		case last && n >= 1<<(8*(4-i)):
			return netip.Addr{}, false
		case last:
			sum |= n
		default:
			sum |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}
