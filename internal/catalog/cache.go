package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// Source is where facts come from that are newer than the binary's.
const Source = "https://models.dev/api.json"

// Cache keeps the facts of models.dev, as they were fetched last, in a file. The binary's own are used while there is
// none, when the file cannot be read, and when it was fetched before the binary's were.
type Cache struct {
	Path      string
	URL       string // "" is Source
	Transport http.RoundTripper
}

const (
	maxFacts    = 32 << 20
	refreshTime = 30 * time.Second
	// snapshotDate is when the facts in the binary were taken.
	snapshotDate = "2026-07-02"
	// Stale is how old facts are when a server fetches them again (spec/v2 §19.2 CT-7).
	Stale = time.Hour
)

// cached is the file: the facts as they came, and what to ask by whether there are newer ones.
type cached struct {
	ETag  string         `json:"etag,omitzero"`
	From  string         `json:"from"`
	Facts jsontext.Value `json:"facts"`
}

// Facts returns what the cache has, for Parse; nil for nothing that is newer than the binary.
func (c Cache) Facts() []byte {
	kept, at := c.read()
	born, err := time.Parse(time.DateOnly, snapshotDate)
	if err != nil || at.Before(born) {
		return nil
	}
	return kept.Facts
}

// Examine says why a file that is there is not used; nil for none, and for one that is.
func (c Cache) Examine() error {
	if c.At().IsZero() {
		return nil
	}
	raw, err := statefile.Read(c.Path, maxFacts+4096)
	if err != nil {
		return err
	}
	var kept cached
	if json.Unmarshal(raw, &kept, foreign) != nil {
		return fmt.Errorf("%s holds no JSON", c.Path)
	}
	if kept.From != c.url() {
		return nil // of another place, on purpose
	}
	if _, err := Parse(kept.Facts); err != nil {
		return fmt.Errorf("what %s holds %w", c.Path, err)
	}
	return nil
}

// At returns when the cache was last known to be new; zero if there is none.
func (c Cache) At() time.Time {
	info, err := os.Stat(c.Path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (c Cache) read() (cached, time.Time) {
	var kept cached
	raw, err := statefile.Read(c.Path, maxFacts+4096)
	if err != nil || raw == nil || json.Unmarshal(raw, &kept, foreign) != nil || kept.From != c.url() || kept.Facts.Kind() != '{' {
		return cached{}, time.Time{}
	}
	return kept, c.At()
}

func (c Cache) url() string { return first(c.URL, Source) }

// Refresh asks for newer facts and keeps them if they can be used. It reports whether there were any. What is there
// already stays when it fails.
func (c Cache) Refresh(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	var fresh bool
	err := statefile.Change(ctx, c.Path, func() (err error) {
		fresh, err = c.refresh(ctx)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("the list of models cannot be fetched: %w", err)
	}
	return fresh, nil
}

func (c Cache) refresh(ctx context.Context) (bool, error) {
	kept, at := c.read()
	next, err := c.fetch(ctx, kept.ETag)
	switch {
	case err != nil:
		return false, err
	case next.Facts == nil: // as it was
		now := time.Now()
		return false, os.Chtimes(c.Path, now, now)
	}
	facts, err := Parse(next.Facts)
	if err == nil {
		_, err = New(Overlay{Facts: facts})
	}
	if err != nil {
		return false, err
	}
	raw, err := json.Marshal(next, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return false, errors.New("what came cannot be written down")
	}
	return at.IsZero() || string(kept.Facts) != string(next.Facts), statefile.Replace(c.Path, raw, 0o600)
}

// fetch returns the facts of the source; none if they are those of the etag.
func (c Cache) fetch(ctx context.Context, etag string) (cached, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(), nil)
	if err != nil {
		return cached{}, errors.New("its address is none")
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := (&http.Client{Transport: c.Transport}).Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // its text repeats the whole address
		}
		return cached{}, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && etag != "":
		return cached{}, nil
	case resp.StatusCode != http.StatusOK:
		return cached{}, fmt.Errorf("%s answered with HTTP %d", req.URL.Host, resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxFacts+1))
	if err != nil {
		return cached{}, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	if err := usable(raw); err != nil {
		return cached{}, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	return cached{ETag: etagOf(resp.Header), From: c.url(), Facts: bytes.TrimPrefix(raw, []byte("\ufeff"))}, nil
}

// usable reports whether an answer is a list of models at all.
func usable(raw []byte) error {
	if len(raw) > maxFacts {
		return fmt.Errorf("its answer has more than %d MiB", maxFacts>>20)
	}
	if _, err := Parse(raw); err != nil {
		return fmt.Errorf("its answer %w", err)
	}
	return nil
}

// etagOf returns the answer's tag if it can be sent back.
func etagOf(h http.Header) string {
	tag := h.Get("ETag")
	if len(tag) > 256 || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return ""
	}
	return tag
}

// ReadFacts returns the facts in a file of the user's own, in the shape of models.dev.
func ReadFacts(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFacts:
		return nil, fmt.Errorf("%s is no list of models", path)
	}
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	if err := usable(raw); err != nil {
		return nil, fmt.Errorf("%s is no list of models", path)
	}
	return raw, nil
}
