package sharepage

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// The limits of the pages.
const (
	maxPages        = 256    // open at once
	maxClientPages  = 16     // open at once, of one client
	maxClientStarts = 60     // requests of one client in a minute
	maxKnownClients = 10_000 // whose requests are counted
)

// limits bounds the requests and the open pages of clients. The zero value is ready for use.
type limits struct {
	mu     sync.Mutex // guards all
	open   int
	pages  map[string]int // open ones, by client
	minute time.Time      // since when starts counts
	starts map[string]int // by client
}

// enter counts a request, which ends with leave. ok is false if a limit is reached.
func (l *limits) enter(r *http.Request) (leave func(), ok bool) {
	client := findClient(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.minute) >= time.Minute {
		l.minute, l.starts = now, map[string]int{}
	}
	if l.pages == nil {
		l.pages = map[string]int{}
	}
	_, isKnown := l.starts[client]
	if l.open >= maxPages || l.pages[client] >= maxClientPages || l.starts[client] >= maxClientStarts ||
		!isKnown && len(l.starts) >= maxKnownClients {
		return nil, false
	}
	l.open++
	l.pages[client]++
	l.starts[client]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		if l.pages[client]--; l.pages[client] == 0 {
			delete(l.pages, client)
		}
	}, true
}

// findClient returns the network of the caller: an IPv4 address, or the first 64 bits of an IPv6 address. Behind
// a reverse proxy on this machine, it is the last element of X-Forwarded-For.
func findClient(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err == nil && a.IsLoopback() {
		all := r.Header.Values("X-Forwarded-For")
		if n := len(all); n > 0 {
			last := all[n-1]
			named, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]))
			if err == nil {
				a = named
			}
		}
	}
	if a.Is6() && !a.Is4In6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.Unmap().String()
}
