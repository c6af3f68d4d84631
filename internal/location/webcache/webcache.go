// Package webcache reads web pages that a configuration names, such as instructions and skills. The last good body of a
// page is stored in a file with its ETag, so that a page that cannot be reached stays what it was, also after a
// restart.
package webcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	fetchTimeout = 5 * time.Second
	freshTime    = 5 * time.Minute // after which a page is fetched again
	retryTime    = 5 * time.Second // after which a page that was never fetched is tried again
	staleTime    = 24 * time.Hour  // after which a page is waited for
	maxETag      = 1 << 10         // bytes; a longer one is not used
)

// Pages reads pages. The zero value keeps them in memory only; safe for concurrent use.
type Pages struct {
	Dir       string            // of the files; "": none
	Transport http.RoundTripper // nil: http.DefaultTransport
	Allow     []netip.Prefix    // networks that may be asked without https, beside this machine

	mu      sync.Mutex // guards pages and closed
	pages   map[string]*pageState
	closed  bool
	fetches sync.WaitGroup
}

// pageState is the state of one URL.
type pageState struct {
	load sync.Once // reads the file

	mu      sync.Mutex    // guards the rest
	entry   entry         // the last good answer
	err     error         // of the last fetch
	triedAt time.Time     // when the last fetch began
	running chan struct{} // closed at the end of the fetch that runs; nil if none does
	cancel  context.CancelFunc
}

// Check returns an error for an address that is not fetched: one without https that does not lead to this machine or an
// allowed network.
func (c *Pages) Check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return errors.New("is not a URL")
	}
	return c.checkURL(u)
}

func (c *Pages) checkURL(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && c.isAllowed(u.Hostname()) {
		return nil
	}
	return errors.New("is not fetched: use https, or this machine or a network of webfetch.allow")
}

func (c *Pages) isAllowed(host string) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost"
	}
	ip = ip.Unmap()
	return ip.IsLoopback() || slices.ContainsFunc(c.Allow, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Read returns the page. If it is stored, it is returned at once, and fetched again in the background if it is older
// than five minutes; only a page older than a day is waited for. A page that was never fetched is waited for until ctx
// ends, and the error says why it cannot be read.
func (c *Pages) Read(ctx context.Context, address string) ([]byte, error) {
	// Find the page and, once, what is stored of it.
	p := c.findPage(address)
	p.load.Do(func() { p.entry = entryDir(c.Dir).read(address) })
	// Start a fetch if none is running, the page is due, and the last attempt is long enough ago. A page that was
	// never fetched is tried again sooner.
	p.mu.Lock()
	known, age := p.entry.FetchedAt != 0, time.Since(time.UnixMilli(p.entry.FetchedAt))
	pause := freshTime
	if !known {
		pause = retryTime
	}
	if p.running == nil && (!known || age > freshTime) && time.Since(p.triedAt) > pause {
		c.startFetch(ctx, p, address)
	}
	running := p.running
	p.mu.Unlock()
	// Wait only if there is nothing usable: no page, or one older than a day.
	if running != nil && (!known || age > staleTime) {
		select {
		case <-running:
		case <-ctx.Done():
		}
	}
	// Return what there is now; an old page is better than an error.
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.entry.FetchedAt != 0:
		return p.entry.Body, nil
	case ctx.Err() != nil:
		return nil, errors.New("the answer has not arrived yet; the fetch goes on in the background")
	default:
		return nil, p.err
	}
}

func (c *Pages) findPage(address string) *pageState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = map[string]*pageState{}
	}
	if c.pages[address] == nil {
		c.pages[address] = &pageState{}
	}
	return c.pages[address]
}

// startFetch fetches the page in the background, until fetchTimeout or Close. p.mu is held.
func (c *Pages) startFetch(ctx context.Context, p *pageState, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.triedAt = time.Now()
	if c.closed {
		p.err = errors.New("cairn is stopping")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	running, before := make(chan struct{}), p.entry
	p.running, p.cancel = running, cancel
	c.fetches.Go(func() {
		defer cancel()
		next, err := c.fetch(ctx, address, before)
		if err == nil {
			entryDir(c.Dir).write(address, next)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err, p.running = err, nil; err == nil {
			p.entry = next
		}
		close(running)
	})
}

// Close ends the fetches that run and waits for them.
func (c *Pages) Close() {
	c.mu.Lock()
	c.closed = true
	pages := c.pages
	c.pages = nil
	c.mu.Unlock()
	for _, p := range pages {
		p.mu.Lock()
		if p.cancel != nil {
			p.cancel()
		}
		p.mu.Unlock()
	}
	c.fetches.Wait()
}

// fetch requests the page, unless it is still the one with the ETag of before.
func (c *Pages) fetch(ctx context.Context, address string, before entry) (entry, error) {
	// Make a request that the server can answer with 304.
	if err := c.Check(address); err != nil {
		return entry{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return entry{}, errors.New("is not a URL")
	}
	req.Header.Set("Accept", "text/markdown, text/plain, */*;q=0.1")
	if before.ETag != "" {
		req.Header.Set("If-None-Match", before.ETag)
	}
	// Send it. Each redirect passes the same check as the address.
	resp, err := (&http.Client{Transport: c.Transport, CheckRedirect: c.checkRedirect}).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v", fetchTimeout)
		} else if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may contain a secret
		}
		return entry{}, err
	}
	// A response replaces the entry, but 304 keeps the stored body under its ETag.
	defer func() { _ = resp.Body.Close() }()
	next := entry{ETag: resp.Header.Get("ETag"), FetchedAt: time.Now().UnixMilli()}
	if len(next.ETag) > maxETag {
		next.ETag = ""
	}
	if resp.StatusCode == http.StatusNotModified && before.ETag != "" {
		next.ETag, next.Body = before.ETag, before.Body
		return next, nil
	}
	if resp.StatusCode != http.StatusOK {
		return entry{}, fmt.Errorf("the server answers %d", resp.StatusCode)
	}
	// One byte more than the limit shows the caller that the page is too large.
	next.Body, err = io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	return next, err
}

// checkRedirect allows a few redirects, to addresses that could be configured, and none from https to http.
func (c *Pages) checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > 5 || before[0].URL.Scheme == "https" && next.URL.Scheme != "https" || c.checkURL(next.URL) != nil {
		return http.ErrUseLastResponse
	}
	return nil
}

// ShowAddress returns an address without the parts that may contain a secret.
func ShowAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an invalid URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
