package instruction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	pageWait = 5 * time.Second // time limit of one request
	pageAge  = 5 * time.Minute // time until a page is fetched again
)

// Pages caches web pages that are configured as instructions. A page that cannot be fetched keeps its last text, or is
// empty. Safe for concurrent use.
type Pages struct {
	Transport http.RoundTripper // nil: http.DefaultTransport

	mu    sync.Mutex // guards known
	pages map[string]*webPage
}

// webPage is the state of one URL. Its fields are guarded by turn.
type webPage struct {
	turn chan struct{}
	text string
	next time.Time
}

// readPage returns the text of the page; "" if it is not known.
func (p *Pages) readPage(ctx context.Context, address string) string {
	page := p.page(address)
	select {
	case page.turn <- struct{}{}:
		defer func() { <-page.turn }()
	case <-ctx.Done():
		return ""
	}
	if time.Now().Before(page.next) {
		return page.text
	}
	text, err := p.fetch(ctx, address)
	if ctx.Err() != nil {
		return page.text
	}
	if err == nil {
		page.text = text
	}
	page.next = time.Now().Add(pageAge)
	return page.text
}

func (p *Pages) page(address string) *webPage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pages == nil {
		p.pages = map[string]*webPage{}
	}
	if p.pages[address] == nil {
		p.pages[address] = &webPage{turn: make(chan struct{}, 1)}
	}
	return p.pages[address]
}

// fetch requests the page over http or https and returns at most MaxBytes of it.
func (p *Pages) fetch(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "text/markdown, text/plain, */*;q=0.1")
	client := &http.Client{Transport: p.Transport, CheckRedirect: follow}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxBytes+1))
	if err != nil {
		return "", err
	}
	return clean(raw, MaxBytes, "the page is longer"), nil
}

// follow allows a few redirects and none from https to http.
func follow(next *http.Request, before []*http.Request) error {
	if len(before) > 5 || before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// cacheFile returns the page as an instruction file whose path is the URL without credentials.
func (p *Pages) cacheFile(ctx context.Context, address string, limit int) File {
	shown := address
	if u, err := url.Parse(address); err == nil {
		u.User, u.RawQuery = nil, ""
		shown = u.String()
	}
	return File{shown, clean([]byte(p.readPage(ctx, address)), limit, "the page is longer")}
}

// clean returns at most limit bytes of raw as valid text, with a note about what was cut off.
func clean(raw []byte, limit int, longer string) string {
	text := strings.ToValidUTF8(string(cut(raw, limit)), "\uFFFD")
	text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", "\uFFFD"))
	if len(raw) > limit {
		note := fmt.Sprintf("(Cut here: %s, and instructions are limited to %d bytes in all.)", longer, MaxBytes)
		text = strings.TrimSpace(text + "\n" + note)
	}
	return text
}
