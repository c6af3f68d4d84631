package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
)

// NewTransport returns a transport for provider traffic: proxies of the environment; certificates of the system or of
// SSL_CERT_FILE and SSL_CERT_DIR, plus those of NODE_EXTRA_CA_CERTS; HTTP/2; no compression; no timeouts, because the
// clocks of each turn bound every wait. Share it, and close its idle connections at the end.
func NewTransport() *http.Transport {
	roots, err := loadExtraRoots(os.Getenv("NODE_EXTRA_CA_CERTS"))
	if err != nil {
		roots = nil // servers that need them are not trusted; `doctor provider` reports the problem
	}
	return &http.Transport{
		Proxy:                  ProxyFunc(),
		OnProxyConnectResponse: checkConnect,
		DialContext:            (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true,
	}
}

// NewLazyTransport returns a transport that calls NewTransport with its first request: loading certificates takes
// longer than the rest of a start.
func NewLazyTransport() http.RoundTripper { return &lazyTransport{} }

type lazyTransport struct {
	mu        sync.Mutex // guards transport
	transport *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (l *lazyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	if l.transport == nil {
		l.transport = NewTransport()
	}
	transport := l.transport
	l.mu.Unlock()
	return transport.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of the transport, for http.Client.
func (l *lazyTransport) CloseIdleConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.transport != nil {
		l.transport.CloseIdleConnections()
	}
}

// WithUserAgent returns a transport that adds a User-Agent to requests without one.
func WithUserAgent(userAgent string, next http.RoundTripper) http.RoundTripper {
	return &userAgentTransport{userAgent, next}
}

type userAgentTransport struct {
	userAgent string
	next      http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (n *userAgentTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context()) // a RoundTripper must not modify the request
		r.Header.Set("User-Agent", n.userAgent)
	}
	return n.next.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of the next transport, for http.Client.
func (n *userAgentTransport) CloseIdleConnections() {
	(&http.Client{Transport: n.next}).CloseIdleConnections()
}

// maxRoots bounds the size of a certificate file.
const maxRoots = 4 << 20

// CheckExtraRoots returns the problem with the file of NODE_EXTRA_CA_CERTS, if there is one.
func CheckExtraRoots() error {
	_, err := loadExtraRoots(os.Getenv("NODE_EXTRA_CA_CERTS"))
	return err
}

// CheckEnvironment returns the network settings of the environment that have no effect: unreadable certificates and
// invalid proxies.
func CheckEnvironment() []error {
	var out []error
	if err := CheckExtraRoots(); err != nil {
		out = append(out, err)
	}
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		switch pem, err := os.ReadFile(file); {
		case err != nil:
			out = append(out, fmt.Errorf("SSL_CERT_FILE: %w", err))
		case !x509.NewCertPool().AppendCertsFromPEM(pem):
			out = append(out, fmt.Errorf("SSL_CERT_FILE: %s contains no certificate", file))
		}
	}
	for _, name := range proxyVariables {
		if v := os.Getenv(name); v != "" && proxyProblem(v) != "" {
			out = append(out, fmt.Errorf("%s %s", name, proxyProblem(v)))
		}
	}
	return out
}

// loadExtraRoots returns the system's certificates and those of the file; nil, which means the system's, without a
// file.
func loadExtraRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	// Check the file before it is read: a device or a large file would block or fill the memory.
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxRoots {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %s is not a certificate file", path)
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %w", err)
	}
	// Add its certificates to the system's.
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %s contains no certificate", path)
	}
	return pool, nil
}

const maxRedirects = 5

// SameOrigin follows a redirect only to the same scheme and host and with the same method, so that neither a key nor a
// prompt goes elsewhere. A refused redirect becomes the response.
func SameOrigin(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme ||
		next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// transportError returns the error of a failed exchange with host, in plain words.
func transportError(host string, err error) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e // from a transport in this program, such as the player of recordings
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // its text repeats the whole URL
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && (e.Op == "proxyconnect" || strings.HasPrefix(e.Op, "socks ")) {
		return proxyError(host, e)
	}
	what, isPermanent := describeNetworkError(err, "the base URL (options.baseURL)")
	return &llm.Error{
		Class: llm.Transport, Permanent: isPermanent || isAbsent(err),
		Message: fmt.Sprintf("cannot reach %s: %s", host, what), Err: err,
	}
}

// describeNetworkError describes why a server is unreachable, and reports whether the cause is permanent until a
// setting changes. address names the setting with the server's address.
func describeNetworkError(err error, address string) (what string, isPermanent bool) {
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return describeCertificateError(e.Err, address), true
	}
	if problem := handshakeProblem(err); problem != "" {
		return problem + ", or change " + address, true
	}
	switch dns, isDNS := errors.AsType[*net.DNSError](err); {
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server speaks http, not https; change " + address, true
	case isError[tls.RecordHeaderError](err):
		return "the server does not speak https; change " + address, true
	case isDNS:
		return "the host name " + dns.Name + " cannot be resolved", false
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; no server listens there", false
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before an answer arrived", false
	}
	return err.Error(), false
}

// isAbsent reports whether the host does not exist, or no server listens on this machine: waiting does not help.
func isAbsent(err error) bool {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.IsNotFound
	}
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	address, ok := dial.Addr.(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// localFirstByte is the default of Clocks.FirstByte for servers of this machine and its network: they load a model and
// read a long prompt before they send headers.
const localFirstByte = 10 * time.Minute

// clocksFor returns the clocks of a request with the default of the server.
func (m *Model) clocksFor(c llm.Clocks) llm.Clocks {
	name := (&url.URL{Host: m.host}).Hostname()
	ip := net.ParseIP(name)
	isLocal := name == "localhost" || strings.HasSuffix(name, ".local") || strings.HasSuffix(name, ".localhost") ||
		ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	if c.FirstByte == 0 && isLocal {
		c.FirstByte = localFirstByte
	}
	return c
}

// handshakeFailures are permanent failures of a TLS handshake, by the messages of crypto/tls, with the next step.
var handshakeFailures = []struct{ message, advice string }{
	{"certificate required", clientCertificateAdvice},
	{"bad certificate", clientCertificateAdvice},
	{"unknown certificate authority", clientCertificateAdvice},
	{"access denied", clientCertificateAdvice},
	{"protocol version", "the server and cairn have no TLS version in common; enable TLS 1.2 or 1.3 at the server"},
	{
		"handshake failure",
		"the server and cairn have no cipher in common, or the server requires a client certificate, " +
			"which cairn does not support; enable TLS 1.2 or 1.3 without client certificates at the server",
	},
	{
		"insufficient security level",
		"the server and cairn have no cipher in common; enable TLS 1.2 or 1.3 with current ciphers at the server",
	},
	{"unrecognized name", "the server does not serve this host name; check the name or the server's configuration"},
	{"no application protocol", "the server supports neither HTTP/1.1 nor HTTP/2; enable one of them at the server"},
}

const clientCertificateAdvice = "the server requires a client certificate, " +
	"which cairn does not support; use an address without one, or a proxy that presents it"

// handshakeProblem returns why a TLS handshake failed permanently; "" if it did not.
func handshakeProblem(err error) string {
	message, ok := strings.CutPrefix(err.Error(), "tls: server selected unsupported ")
	if e, is := errors.AsType[*net.OpError](err); is && e.Op == "remote error" { // a TLS alert
		message, ok = strings.CutPrefix(e.Err.Error(), "tls: ")
	}
	for _, d := range handshakeFailures {
		if ok && strings.HasPrefix(message, d.message) {
			return d.advice
		}
	}
	return ""
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// describeCertificateError returns why a certificate is not trusted, and the next step.
func describeCertificateError(err error, address string) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("its certificate is not trusted: %s; change %s", e.Error(), address)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "its certificate is not trusted: it has expired or is not yet valid by this computer's clock; correct the " +
			"clock or renew the certificate"
	}
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		err = e
	}
	return fmt.Sprintf(
		"its certificate is not trusted: %v; to trust it, set NODE_EXTRA_CA_CERTS to a PEM file with its authority and "+
			"restart cairn",
		err,
	)
}

// DescribeUnreachable returns the message of a failed exchange with host.
func DescribeUnreachable(host string, err error) string { return transportError(host, err).Message }

// drainTime bounds how long a completed answer may delay the reuse of its connection.
const drainTime = 100 * time.Millisecond

// drainBody reads the end of the body after the answer's last frame, so that the connection returns to the pool.
func drainBody(body io.Reader, dog *llm.Watchdog) {
	timer := time.AfterFunc(drainTime, dog.Stop)
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxErrorBody)) // the answer is complete even if this fails
}

// newBodyError classifies an error of the body.
func newBodyError(ctx context.Context, err error) error {
	what := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		what = "the provider closed it"
	}
	return llm.AsError(
		ctx, &llm.Error{Class: llm.Transport, Message: "the connection was lost during the answer: " + what, Err: err},
	)
}
