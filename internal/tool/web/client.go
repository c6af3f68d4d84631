package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	maxBody      = 5 << 20 // after decompression
	maxRedirects = 5
)

// client fetches pages.
type client struct {
	*guard
	agent     string
	transport http.RoundTripper
}

// page is the response of a server.
type page struct {
	url         *url.URL // after redirects
	status      int
	mime        string // lower case, without parameters
	contentType string // the whole Content-Type
	body        []byte
}

// redirectError reports a redirect to another host or to a weaker scheme. The model decides whether to fetch it,
// because the permission covers the requested host only.
type redirectError struct{ to *url.URL }

func (e *redirectError) Error() string { return "redirected to " + e.to.String() }

// fetchPage fetches the page and follows redirects within its host.
func (c *client) fetchPage(ctx context.Context, u *url.URL, accept string) (*page, error) {
	for range maxRedirects + 1 {
		res, err := c.sendAsBrowser(ctx, u, accept)
		if err != nil {
			return nil, err
		}
		next, err := c.followRedirect(u, res)
		if next == nil && err == nil {
			return readPage(u, res)
		}
		_ = res.Body.Close()
		if err != nil {
			return nil, err
		}
		u = next
	}
	return nil, tool.Failf("%s redirects more than %d times.", u, maxRedirects)
}

// browser is a user agent that most servers accept.
const browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36"

// sendAsBrowser sends one request. If a bot check refuses the browser's user agent, it repeats the request with that of
// this program.
func (c *client) sendAsBrowser(ctx context.Context, u *url.URL, accept string) (*http.Response, error) {
	res, err := c.sendRequest(ctx, u, accept, browser)
	if err != nil || res.StatusCode != http.StatusForbidden || res.Header.Get("Cf-Mitigated") != "challenge" {
		return res, err
	}
	_ = res.Body.Close()
	return c.sendRequest(ctx, u, accept, c.agent)
}

func (c *client) sendRequest(ctx context.Context, u *url.URL, accept, agent string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, tool.Failf("%s cannot be asked for.", u)
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Language", "en-US,en;q=0.9")
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, describeFetchError(ctx, u, err)
	}
	return res, nil
}

// describeFetchError returns the error for the model.
func describeFetchError(ctx context.Context, u *url.URL, err error) error {
	if local, ok := errors.AsType[*localAddressError](err); ok {
		return local
	}
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		err = op.Err
	}
	return tool.Failf("%s could not be fetched: %v.", u.Host, err)
}

// followRedirect returns the target of a redirect, nil if the response is the page. A target may differ in its path and
// query, and by https in place of http.
func (c *client) followRedirect(from *url.URL, res *http.Response) (*url.URL, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location, err := from.Parse(res.Header.Get("Location"))
	if err != nil || res.Header.Get("Location") == "" {
		return nil, tool.Failf("%s redirects without a valid Location.", from)
	}
	to, err := c.parseTarget(location.String())
	if err != nil {
		return nil, err
	}
	secured := from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname() && from.Port() == "" &&
		to.Port() == ""
	if !secured && (from.Scheme != to.Scheme || from.Host != to.Host) {
		return nil, &redirectError{to}
	}
	return to, nil
}

// readPage reads the response body, at most maxBody bytes.
func readPage(u *url.URL, res *http.Response) (*page, error) {
	defer res.Body.Close()
	content := res.Header.Get("Content-Type")
	mime, _, _ := strings.Cut(content, ";")
	p := &page{url: u, status: res.StatusCode, mime: strings.ToLower(strings.TrimSpace(mime)), contentType: content}
	if p.status < 200 || p.status > 299 {
		return nil, tool.Failf("%s answered with status %s.", u, res.Status)
	}
	tooLarge := tool.Failf("%s is larger than %d MiB, the most that is fetched.", u, maxBody>>20)
	if res.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if len(body) > maxBody {
		return nil, tooLarge
	}
	if err != nil {
		return nil, describeFetchError(res.Request.Context(), u, err)
	}
	p.body = body
	return p, nil
}
