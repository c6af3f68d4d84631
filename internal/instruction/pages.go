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
	pageWait = 5 * time.Second // for one answer (spec/v1 §28)
	pageAge  = 5 * time.Minute // until an address is asked again
)

// Pages are texts on the web that the configuration names as instructions. What an address said holds for a while, and until
// it says something else: one that does not answer says what it said before, or nothing. Safe for concurrent use.
type Pages struct {
	Transport http.RoundTripper // nil: http's own

	mu    sync.Mutex // guards known
	known map[string]*webPage
}

// webPage is one address. Its fields belong to who holds turn.
type webPage struct {
	turn chan struct{}
	text string
	next time.Time
}

// text is what the address says, "" if nothing is known.
func (p *Pages) text(ctx context.Context, address string) string {
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
	if p.known == nil {
		p.known = map[string]*webPage{}
	}
	if p.known[address] == nil {
		p.known[address] = &webPage{turn: make(chan struct{}, 1)}
	}
	return p.known[address]
}

// fetch gets the text of an address by http or https, at most MaxBytes of it.
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

// follow follows a few redirections, none that leaves https.
func follow(next *http.Request, before []*http.Request) error {
	if len(before) > 5 || before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// file is the page as a file of instructions, by its address without what is secret in it.
func (p *Pages) file(ctx context.Context, address string, limit int) File {
	shown := address
	if u, err := url.Parse(address); err == nil {
		u.User, u.RawQuery = nil, ""
		shown = u.String()
	}
	return File{shown, clean([]byte(p.text(ctx, address)), limit, "the page is longer")}
}

// clean is at most limit bytes of raw as valid text, with a word about what is missing.
func clean(raw []byte, limit int, longer string) string {
	text := strings.ToValidUTF8(string(cut(raw, limit)), "\uFFFD")
	text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", "\uFFFD"))
	if len(raw) > limit {
		note := fmt.Sprintf("(Cut here: %s, and instructions are limited to %d bytes in all.)", longer, MaxBytes)
		text = strings.TrimSpace(text + "\n" + note)
	}
	return text
}
