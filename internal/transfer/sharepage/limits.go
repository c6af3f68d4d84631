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
	maxPages         = 256 // that are open at once
	maxClientPages   = 16  // of one client
	maxClientStarts  = 60  // requests of one client in a minute
	maxKnownRequests = 10_000
)

// limits bounds what clients take. The zero value is ready.
type limits struct {
	mu     sync.Mutex // guards all
	open   int
	pages  map[string]int // open ones, by client
	minute time.Time      // since when starts counts
	starts map[string]int // by client
}

// enter counts a request, which ends with leave. It returns false if it is one too many.
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
		!isKnown && len(l.starts) >= maxKnownRequests {
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

// findClient returns the network of the caller: an IPv4 address, or the first 64 bits of an IPv6 address. A proxy on
// this machine names it in the last element of X-Forwarded-For.
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
