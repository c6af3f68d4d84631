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

// NewTransport returns a transport for provider traffic: proxies from the environment, certificates from the system or
// SSL_CERT_FILE and SSL_CERT_DIR, and those in the file NODE_EXTRA_CA_CERTS beside them, HTTP/2, no compression, no time
// limits of its own, because the clocks of each turn bound every wait. Share it; close its idle connections when done.
func NewTransport() *http.Transport {
	roots, err := extraRoots(os.Getenv("NODE_EXTRA_CA_CERTS"))
	if err != nil {
		roots = nil // servers that need them are not trusted, which says why; doctor provider says what is wrong
	}
	return &http.Transport{
		Proxy:                  Proxy(),
		OnProxyConnectResponse: connected,
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

// LateTransport is NewTransport when its first request is sent: reading certificates takes longer than the rest of a start.
func LateTransport() http.RoundTripper { return &late{} }

type late struct {
	mu   sync.Mutex // guards made
	made *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	if l.made == nil {
		l.made = NewTransport()
	}
	made := l.made
	l.mu.Unlock()
	return made.RoundTrip(r)
}

// CloseIdleConnections closes what http.Client asks of its transport to close.
func (l *late) CloseIdleConnections() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil {
		l.made.CloseIdleConnections()
	}
}

// Named returns a transport whose requests say who sends them, where they do not say so themselves.
func Named(userAgent string, next http.RoundTripper) http.RoundTripper {
	return &named{userAgent, next}
}

type named struct {
	userAgent string
	next      http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (n *named) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context()) // the caller's is not to be changed
		r.Header.Set("User-Agent", n.userAgent)
	}
	return n.next.RoundTrip(r)
}

// CloseIdleConnections passes on what http.Client asks of its transport.
func (n *named) CloseIdleConnections() {
	(&http.Client{Transport: n.next}).CloseIdleConnections()
}

// maxRoots bounds a file of certificates.
const maxRoots = 4 << 20

// ExtraRoots reports what is wrong with the file of further certificates that NODE_EXTRA_CA_CERTS names.
func ExtraRoots() error {
	_, err := extraRoots(os.Getenv("NODE_EXTRA_CA_CERTS"))
	return err
}

// Surroundings reports what of the environment has no effect on the way to servers: certificates that cannot be read, and
// proxies that are no addresses.
func Surroundings() []error {
	var out []error
	if err := ExtraRoots(); err != nil {
		out = append(out, err)
	}
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		switch pem, err := os.ReadFile(file); {
		case err != nil:
			out = append(out, fmt.Errorf("SSL_CERT_FILE: %w", err))
		case !x509.NewCertPool().AppendCertsFromPEM(pem):
			out = append(out, fmt.Errorf("SSL_CERT_FILE: %s holds no certificate", file))
		}
	}
	for _, name := range proxyVariables {
		if v := os.Getenv(name); v != "" && amiss(v) != "" {
			out = append(out, fmt.Errorf("%s %s", name, amiss(v)))
		}
	}
	return out
}

// extraRoots returns the system's certificates and those of the file; nil, which means the system's, without one.
func extraRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxRoots {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %s is no file of certificates", path)
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("NODE_EXTRA_CA_CERTS: %s holds no certificate", path)
	}
	return pool, nil
}

const maxRedirects = 5

// SameOrigin follows a redirect only to the same scheme and host and with the same method, so that neither a key nor
// a prompt goes anywhere else. A refused redirect becomes the response.
func SameOrigin(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// transportError says in plain words why an exchange with host did not come about.
func transportError(host string, err error) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e // a transport of ours, such as a player of recordings, knows better
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // its text repeats the whole URL
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && (e.Op == "proxyconnect" || strings.HasPrefix(e.Op, "socks ")) {
		return proxyError(host, e)
	}
	what, final := hindrance(err, "the base URL (options.baseURL)")
	return &llm.Error{Class: llm.Transport, Permanent: final, Message: fmt.Sprintf("cannot reach %s: %s", host, what), Err: err}
}

// hindrance says what is between us and a server whose address is set there, and whether it stays until somebody changes
// something.
func hindrance(err error, address string) (what string, final bool) {
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return mistrust(e.Err, address), true
	}
	if why := unagreed(err); why != "" {
		return why + ", or change " + address, true
	}
	switch dns, unresolved := errors.AsType[*net.DNSError](err); {
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it speaks http, not https; change " + address, true
	case is[tls.RecordHeaderError](err):
		return "it does not speak https; change " + address, true
	case unresolved:
		return "the host name " + dns.Name + " cannot be resolved", false
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; nothing listens there", false
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before an answer came", false
	}
	return err.Error(), false
}

// disagreements are the ends of a TLS handshake that come again whenever it is tried, by the words of crypto/tls, and what is
// to be done about them.
var disagreements = []struct{ words, advice string }{
	{"certificate required", noCertificate},
	{"bad certificate", noCertificate},
	{"unknown certificate authority", noCertificate},
	{"access denied", noCertificate},
	{"protocol version", "it and cairn speak no version of TLS in common; cairn speaks 1.2 and 1.3: let the server offer one of them"},
	{"handshake failure", "it and cairn agree on no way to encrypt, or it wants a certificate of its clients, and cairn has none to show: let the server offer TLS 1.2 or 1.3 without one"},
	{"insufficient security level", "it and cairn agree on no way to encrypt: let the server offer TLS 1.2 or 1.3 with ciphers of today"},
	{"unrecognized name", "it serves no host of that name: let it serve the name"},
	{"no application protocol", "it speaks neither HTTP/1.1 nor HTTP/2: let the server offer one of them"},
}

const noCertificate = "it wants a certificate of its clients, and cairn has none to show: ask for one that does without, or go through a proxy that shows it"

// unagreed says why server and client did not come to terms in their handshake, and will not the next time; "" if they did,
// or may.
func unagreed(err error) string {
	said, ok := strings.CutPrefix(err.Error(), "tls: server selected unsupported ")
	if e, is := errors.AsType[*net.OpError](err); is && e.Op == "remote error" { // an alert, of a type of crypto/tls's own
		said, ok = strings.CutPrefix(e.Err.Error(), "tls: ")
	}
	for _, d := range disagreements {
		if ok && strings.HasPrefix(said, d.words) {
			return d.advice
		}
	}
	return ""
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// mistrust says why a certificate does not count, and what to do about it.
func mistrust(err error, address string) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("its certificate is not trusted: %s; change %s", e.Error(), address)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "its certificate is not trusted: it has expired, or is not valid yet by this computer's clock; if the clock is right, the server needs another"
	}
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		err = e
	}
	return fmt.Sprintf("its certificate is not trusted: %v; if it should be, name the file of its authority in NODE_EXTRA_CA_CERTS, a file of PEM, and start cairn again", err)
}

// Unreachable says in plain words why an exchange with host did not come about.
func Unreachable(host string, err error) string { return transportError(host, err).Message }

// drainTime is how long a finished answer may keep its connection from being reused.
const drainTime = 100 * time.Millisecond

// drain reads the end of the body after the answer's last frame, so that the connection goes back to the pool.
func drain(body io.Reader, dog *llm.Watchdog) {
	timer := time.AfterFunc(drainTime, dog.Stop)
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxErrorBody)) // whatever happens, the answer is complete
}

// readError gives an error of the body its class.
func readError(ctx context.Context, err error) error {
	what := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		what = "the provider closed it"
	}
	return llm.AsError(ctx, &llm.Error{Class: llm.Transport, Message: "the connection was lost during the answer: " + what, Err: err})
}
