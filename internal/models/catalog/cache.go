package catalog

import (
	"bytes"
	"context"
	_ "embed"
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

// Source is the address of facts newer than those in the binary.
const Source = "https://models.dev/api.json"

// Cache stores the facts of models.dev that were fetched last in a file. The facts in the binary are used if the file
// is missing, unreadable or older than they are.
type Cache struct {
	Path      string
	URL       string // "" is Source
	Transport http.RoundTripper
}

const (
	maxFacts     = 32 << 20
	fetchTimeout = 30 * time.Second
	// MaxAge is the age at which a server fetches the facts again.
	MaxAge = time.Hour
)

// cacheFile is the stored form: the facts as they came, and the tag for the next request.
type cacheFile struct {
	ETag  string         `json:"etag,omitzero"`
	From  string         `json:"from"`
	Facts jsontext.Value `json:"facts"`
}

// Facts returns the cached facts, for Parse; nil if they are missing or older than those in the binary.
func (c Cache) Facts() []byte {
	stored, at := c.read()
	if at.Before(SnapshotDate()) {
		return nil
	}
	return stored.Facts
}

//go:embed snapshot_date.txt
var snapshotDate string

// MayName reports whether the facts in the binary have the name, for example as the variable of a provider's key.
func MayName(name string) bool { return bytes.Contains(snapshot, []byte(`"`+name+`"`)) }

// SnapshotDate returns when the facts in the binary were fetched.
func SnapshotDate() time.Time {
	t, err := time.Parse(time.DateOnly, strings.TrimSpace(snapshotDate))
	if err != nil {
		panic("snapshot_date.txt: " + err.Error())
	}
	return t
}

// Date returns when the facts in use were confirmed: the cached ones, or those in the binary.
func (c Cache) Date() time.Time {
	if at := c.FetchedAt(); at.After(SnapshotDate()) && c.Facts() != nil {
		return at
	}
	return SnapshotDate()
}

// Check returns why an existing file cannot be used; nil if it can be, or does not exist.
func (c Cache) Check() error {
	if c.FetchedAt().IsZero() {
		return nil
	}
	raw, err := statefile.Read(c.Path, maxFacts+4096)
	if err != nil {
		return err
	}
	var stored cacheFile
	if json.Unmarshal(raw, &stored, lenientJSON) != nil {
		return fmt.Errorf("%s is not valid JSON", c.Path)
	}
	if stored.From != c.sourceURL() {
		return nil // fetched from another configured address
	}
	if _, err := Parse(stored.Facts); err != nil {
		return fmt.Errorf("the content of %s %w", c.Path, err)
	}
	return nil
}

// FetchedAt returns when the cached facts were last confirmed by the source; zero without a cached list.
func (c Cache) FetchedAt() time.Time {
	info, err := os.Stat(c.Path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (c Cache) read() (cacheFile, time.Time) {
	var stored cacheFile
	raw, err := statefile.Read(c.Path, maxFacts+4096)
	if err != nil || raw == nil || json.Unmarshal(raw, &stored, lenientJSON) != nil ||
		stored.From != c.sourceURL() || stored.Facts.Kind() != '{' {
		return cacheFile{}, time.Time{}
	}
	return stored, c.FetchedAt()
}

func (c Cache) sourceURL() string { return firstNonEmpty(c.URL, Source) }

// Refresh fetches the facts and stores them if they are valid. It reports whether they are new. If it fails, the file
// stays as it is.
func (c Cache) Refresh(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var fresh bool
	err := statefile.WithLock(ctx, c.Path, func() (err error) {
		fresh, err = c.refresh(ctx)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("the list of models cannot be fetched: %w", err)
	}
	return fresh, nil
}

func (c Cache) refresh(ctx context.Context) (bool, error) {
	stored, at := c.read()
	next, err := c.fetch(ctx, stored.ETag)
	switch {
	case err != nil:
		return false, err
	case next.Facts == nil: // unchanged
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
		return false, errors.New("its response cannot be encoded")
	}
	return at.IsZero() || string(stored.Facts) != string(next.Facts), statefile.Replace(c.Path, raw, 0o600)
}

// fetch returns the facts of the source; empty if they still have the etag.
func (c Cache) fetch(ctx context.Context, etag string) (cacheFile, error) {
	// Request the list, unless it is the one with the etag.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.sourceURL(), nil)
	if err != nil {
		return cacheFile{}, errors.New("its address is invalid")
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := (&http.Client{Transport: c.Transport}).Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // its text contains the whole address
		}
		return cacheFile{}, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	// 304 means that the stored facts are current.
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && etag != "":
		return cacheFile{}, nil
	case resp.StatusCode != http.StatusOK:
		return cacheFile{}, fmt.Errorf("%s answered with HTTP %d", req.URL.Host, resp.StatusCode)
	}
	// Read and check the list, because a proxy may answer with a page of its own.
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxFacts+1))
	if err != nil {
		return cacheFile{}, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	if err := checkFacts(raw); err != nil {
		return cacheFile{}, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	return cacheFile{
		ETag:  etagOf(resp.Header),
		From:  c.sourceURL(),
		Facts: bytes.TrimPrefix(raw, []byte("\ufeff")),
	}, nil
}

// checkFacts fails if an answer is not a list of models.
func checkFacts(raw []byte) error {
	if len(raw) > maxFacts {
		return fmt.Errorf("its response is larger than %d MiB", maxFacts>>20)
	}
	if _, err := Parse(raw); err != nil {
		return fmt.Errorf("its response %w", err)
	}
	return nil
}

// etagOf returns the tag of an answer if it can be sent back.
func etagOf(h http.Header) string {
	tag := h.Get("ETag")
	if len(tag) > 256 || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return ""
	}
	return tag
}

// ReadFacts reads facts from the user's own file, in the shape of models.dev.
func ReadFacts(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFacts:
		return nil, fmt.Errorf("%s is not a list of models", path)
	}
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	if err := checkFacts(raw); err != nil {
		return nil, fmt.Errorf("%s is not a list of models", path)
	}
	return raw, nil
}
