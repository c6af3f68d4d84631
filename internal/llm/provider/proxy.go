package provider

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/cairn-dev/cairn/internal/llm"
)

// proxyVariables are those of the environment that name proxies. Where both spellings are set, the upper one counts.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

// proxySchemes are the ways to talk with a proxy. Desktops say socks for socks5.
var proxySchemes = []string{"http", "https", "socks5", "socks5h", "socks"}

// Proxy returns what finds the proxy of a request, by the environment as it is now: HTTPS_PROXY or HTTP_PROXY, else
// ALL_PROXY, unless NO_PROXY names the host. This machine itself is reached without one.
func Proxy() func(*http.Request) (*url.URL, error) {
	c := httpproxy.FromEnvironment()
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	c.HTTPSProxy = cmp.Or(c.HTTPSProxy, all)
	if !c.CGI { // there, HTTP_PROXY would be what a client sent
		c.HTTPProxy = cmp.Or(c.HTTPProxy, all)
	}
	find := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		u, err := find(r.URL)
		if u == nil || err != nil {
			return u, err
		}
		if !slices.Contains(proxySchemes, u.Scheme) {
			return nil, fmt.Errorf("%s is no way to talk with a proxy; %s are", u.Scheme, strings.Join(proxySchemes[:4], ", "))
		}
		if u.Scheme == "socks" {
			u.Scheme = "socks5"
		}
		return u, nil
	}
}

// amiss says why what stands in a variable is no proxy; "" if it is one. It may hold a password.
func amiss(v string) string {
	if scheme, _, ok := strings.Cut(v, "://"); ok && !slices.Contains(proxySchemes, strings.ToLower(scheme)) {
		return "is no proxy of a kind that is known (" + strings.Join(proxySchemes[:4], ", ") + "): what it is for cannot be reached"
	}
	for _, text := range []string{v, "http://" + v} {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			return ""
		}
	}
	return "is no address, and has no effect"
}

// connected looks at a proxy's answer to the wish for a connection.
func connected(_ context.Context, via *url.URL, wish *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return refusedBy(via.Host, strings.TrimSuffix(wish.Host, ":443"), resp)
}

// refusedBy is the error of a proxy that does not let a request through.
func refusedBy(proxy, host string, resp *http.Response) *llm.Error {
	e := &llm.Error{Class: llm.Transport, Status: resp.StatusCode, Permanent: resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests}
	e.Message = fmt.Sprintf("cannot reach %s: the proxy %s does not let us through (HTTP %d)", host, proxy, resp.StatusCode)
	if resp.StatusCode == http.StatusProxyAuthRequired {
		e.Message = fmt.Sprintf("cannot reach %s: the proxy %s wants a name and a password that are right, in its address: http://name:password@host:port", host, proxy)
	}
	return e
}

// proxyError is the error of a proxy with which nothing comes about.
func proxyError(host string, e *net.OpError) *llm.Error {
	what, final := hindrance(e.Err, "its address")
	does := "does not answer"
	if e.Op != "proxyconnect" { // it has, as SOCKS
		does = "refuses"
	}
	return &llm.Error{
		Class: llm.Transport, Permanent: final, Err: e.Err,
		Message: fmt.Sprintf("cannot reach %s: the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is in between, and %s: %s", host, does, what),
	}
}
