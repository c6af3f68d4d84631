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

// proxyVariables are the environment variables that name proxies. Upper case takes precedence.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

// proxySchemes are the supported schemes of proxies. Desktops use socks for socks5.
var proxySchemes = []string{"http", "https", "socks5", "socks5h", "socks"}

// ProxyFunc returns a function that selects the proxy of a request by the current environment: HTTPS_PROXY or
// HTTP_PROXY, else ALL_PROXY, unless NO_PROXY contains the host. Loopback addresses use no proxy.
func ProxyFunc() func(*http.Request) (*url.URL, error) {
	c := httpproxy.FromEnvironment()
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	c.HTTPSProxy = cmp.Or(c.HTTPSProxy, all)
	if !c.CGI { // under CGI a client can set HTTP_PROXY
		c.HTTPProxy = cmp.Or(c.HTTPProxy, all)
	}
	find := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		u, err := find(r.URL)
		if u == nil || err != nil {
			return u, err
		}
		if !slices.Contains(proxySchemes, u.Scheme) {
			return nil, fmt.Errorf("%s is not a supported proxy scheme; use %s", u.Scheme, strings.Join(proxySchemes[:4], ", "))
		}
		if u.Scheme == "socks" {
			u.Scheme = "socks5"
		}
		return u, nil
	}
}

// proxyProblem returns why the value of a variable is not a proxy; "" if it is one. It does not repeat the value, which
// may contain a password.
func proxyProblem(v string) string {
	if scheme, _, ok := strings.Cut(v, "://"); ok && !slices.Contains(proxySchemes, strings.ToLower(scheme)) {
		return "is not a supported proxy (" + strings.Join(proxySchemes[:4], ", ") + "): requests through it fail"
	}
	for _, text := range []string{v, "http://" + v} {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			return ""
		}
	}
	return "is not a valid address and is ignored"
}

// checkConnect checks a proxy's answer to CONNECT.
func checkConnect(_ context.Context, via *url.URL, connect *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return proxyRefusal(via.Host, strings.TrimSuffix(connect.Host, ":443"), resp)
}

// proxyRefusal returns the error of a proxy that refuses a request.
func proxyRefusal(proxy, host string, resp *http.Response) *llm.Error {
	e := &llm.Error{
		Class: llm.Transport, Status: resp.StatusCode,
		Permanent: resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests,
	}
	e.Message = fmt.Sprintf("cannot reach %s: the proxy %s refuses the connection (HTTP %d)", host, proxy, resp.StatusCode)
	if resp.StatusCode == http.StatusProxyAuthRequired {
		e.Message = fmt.Sprintf(
			"cannot reach %s: the proxy %s requires a valid user name and password in its address: "+
				"http://name:password@host:port",
			host, proxy,
		)
	}
	return e
}

// proxyError returns the error of a connection to a proxy that fails.
func proxyError(host string, e *net.OpError) *llm.Error {
	what, isPermanent := describeNetworkError(e.Err, "its address")
	verb := "does not answer"
	if e.Op != "proxyconnect" { // a SOCKS proxy that answered
		verb = "refuses the connection"
	}
	return &llm.Error{
		Class: llm.Transport, Permanent: isPermanent || isAbsent(e.Err), Err: e.Err,
		Message: fmt.Sprintf("cannot reach %s: the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY %s: %s", host, verb, what),
	}
}
