package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

// originPolicy says from where requests may come. All comparisons are exact: no prefixes, no case folding, no
// wildcards. Only the port of a Host may differ, because clients behind a proxy or a tunnel name its port. A name
// that an attacker rebinds by DNS is never in the list, and the Origin of a page includes its port.
type originPolicy struct {
	names    []string // of Host over TCP, with any port or none
	sockets  []string // names of Host over the unix socket
	pages    []string // values of Origin
	protect  *http.CrossOriginProtection
	anyLocal bool // other machines can connect: the local address is a valid name, too
}

func newOriginPolicy(c Config, port int) (*originPolicy, error) {
	o := &originPolicy{
		sockets: []string{"localhost", "cairn", "127.0.0.1"}, protect: http.NewCrossOriginProtection(),
		// OpenCode's desktop application: no web page can have these origins.
		pages:    append(slices.Clone(c.Origins), "oc://renderer", "tauri://localhost"),
		anyLocal: !IsLoopback(c.Hostname),
	}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		o.names = append(o.names, formatHost(name))
	}
	if ip := net.ParseIP(c.Hostname); c.Hostname != "localhost" && (ip == nil || !ip.IsUnspecified()) {
		o.names = append(o.names, formatHost(c.Hostname))
	}
	if c.MDNS != "" {
		o.names = append(o.names, c.MDNS)
	}
	if port != 0 {
		for _, name := range o.names {
			o.pages = append(o.pages, "http://"+name+":"+strconv.Itoa(port))
		}
	}
	for _, page := range o.pages {
		u, err := url.Parse(page)
		if err != nil || u.Host == "" || u.Path != "" {
			return nil, session.Errorf(session.CodeInvalid,
				"%q is not an origin; write it like https://app.example.com", page).
				At("origins")
		}
		if err := o.protect.AddTrustedOrigin(page); err != nil {
			return nil, fmt.Errorf("origin %s: %w", page, err)
		}
	}
	return o, nil
}

// checkHost refuses requests for other hosts, such as those of a name that an attacker rebinds by DNS.
func (s *Server) checkHost(w http.ResponseWriter, r *http.Request, next http.Handler) {
	o := s.origins
	var ok bool
	switch {
	case r.URL.Host != "": // a request to a proxy
	case peer.FromRequest(r).Unix:
		name := r.Host
		if h, _, err := net.SplitHostPort(r.Host); err == nil {
			name = h
		}
		ok = slices.Contains(o.sockets, name)
	default:
		ok = slices.ContainsFunc(o.names, func(name string) bool { return matchesHost(r.Host, name) }) ||
			(o.anyLocal && matchesHost(r.Host, localHost(r)))
	}
	if !ok {
		s.fail(w, r, session.Errorf(session.CodeDenied, "this server is not %s", session.ClipText(r.Host, 100)))
		return
	}
	next.ServeHTTP(w, r)
}

// formatHost formats a name as in a Host header.
func formatHost(name string) string { return strings.TrimSuffix(net.JoinHostPort(name, ""), ":") }

// matchesHost reports whether the host is the name, alone or with a port.
func matchesHost(host, name string) bool {
	rest, ok := strings.CutPrefix(host, name)
	port, ported := strings.CutPrefix(rest, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	return ok && (rest == "" || ported && err == nil && strconv.FormatUint(n, 10) == port && n > 0)
}

// localHost returns the address at which the request arrived, as in a Host header.
func localHost(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return formatHost(a.IP.String())
	}
	return "\x00" // no Host is this
}

// checkOrigin refuses requests, of any method, that pages of other sites make a browser send. It answers preflight
// requests of the allowed pages.
func (s *Server) checkOrigin(w http.ResponseWriter, r *http.Request, next http.Handler) {
	page, listed := s.origins.allowedOrigin(r)
	// A page of another origin is refused; one that is listed may read the response.
	switch {
	case !listed, s.origins.protect.Check(r) != nil:
		s.fail(
			w,
			r,
			session.Errorf(
				session.CodeDenied,
				"requests from pages of this origin are refused; to allow them, add the origin to server.cors",
			),
		)
		return
	case page == "":
	default:
		w.Header().Set("Access-Control-Allow-Origin", page)
	}
	// A preflight asks what the page may send.
	if page != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, PUT, PATCH, POST, DELETE")
		h.Set(
			"Access-Control-Allow-Headers",
			"authorization, content-type, last-event-id, x-opencode-directory, x-opencode-ticket, x-opencode-workspace",
		)
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	next.ServeHTTP(w, r)
}

// allowedOrigin returns the Origin, "" without one, and whether requests may come from it: from the listed pages,
// and over TCP from a page of the very host and port that the request names. Without an Origin, Sec-Fetch-Site must
// say that the user made the request.
func (o *originPolicy) allowedOrigin(r *http.Request) (string, bool) {
	switch values := r.Header.Values("Origin"); len(values) {
	case 0:
		site := r.Header.Get("Sec-Fetch-Site")
		return "", site == "" || site == "none" || site == "same-origin"
	case 1:
		return values[0], slices.Contains(o.pages, values[0]) || !peer.FromRequest(r).Unix &&
			values[0] == "http://"+r.Host
	default:
		return "", false
	}
}

// browserHeader returns a header that shows that a browser sent the request, or "". Sec-Fetch-Mode:
// cors alone is no evidence: Node's fetch, and so OpenCode's SDK, sends it; browsers never send it without
// Sec-Fetch-Site.
func browserHeader(r *http.Request) string {
	for name, values := range r.Header {
		node := name == "Sec-Fetch-Mode" && slices.Equal(values, []string{"cors"})
		if name == "Origin" || (strings.HasPrefix(name, "Sec-Fetch-") && !node) {
			return name
		}
	}
	return ""
}
