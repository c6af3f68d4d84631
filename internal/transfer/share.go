package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// ShareHost is the host on which OpenCode publishes sessions.
const ShareHost = "opncd.ai"

// Share is a published session.
type Share struct {
	Host string // with its port, if it has one
	Slug string
}

var sharePath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/share/([A-Za-z0-9_-]{1,200})/?$`)
})

// ParseShare reads the address of a share, https://HOST/share/SLUG. Other hosts than OpenCode's must be among those.
func ParseShare(address string, hosts []string) (Share, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Share{}, session.Errorf(session.CodeInvalid, "%q is not an address", address)
	}
	slug := sharePath().FindStringSubmatch(u.Path)
	switch {
	case u.Scheme != "https" || u.User != nil || u.Host == "" || slug == nil || u.RawQuery != "":
		return Share{}, session.Errorf(session.CodeInvalid,
			"%q is not the address of a share; use https://%s/share/SLUG", address, ShareHost)
	case !slices.Contains(append([]string{ShareHost}, hosts...), strings.ToLower(u.Host)):
		return Share{}, session.Errorf(
			session.CodeInvalid,
			"shares of %s are not fetched unless --allow-host=%[1]s is given",
			u.Host,
		)
	}
	return Share{Host: strings.ToLower(u.Host), Slug: slug[1]}, nil
}

// What a share may be at most, and how long it may take.
const (
	maxShare  = 128 << 20
	shareTime = 5 * time.Minute
)

// Fetch gets the share as a document that Import reads. Nothing of the user's goes along, and a redirect is not
// followed.
func (s Share) Fetch(ctx context.Context, transport http.RoundTripper) (*bytes.Reader, error) {
	return s.atMost(ctx, transport, maxShare)
}

func (s Share) atMost(ctx context.Context, transport http.RoundTripper, limit int64) (*bytes.Reader, error) {
	// Fetch within the time limit, and follow no redirect.
	late := fmt.Errorf("the share did not arrive within %s; try again", shareTime)
	ctx, cancel := context.WithTimeoutCause(ctx, shareTime, late)
	defer cancel()
	where := "https://" + s.Host + "/api/share/" + s.Slug + "/data"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := (&http.Client{Transport: transport, CheckRedirect: stay}).Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", s.Host, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, session.NotFound("share", s.Slug)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answers with %d %s", s.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	// Gather at most limit bytes.
	body := &boundedReader{r: resp.Body, left: limit}
	items, err := gatherShare(body)
	switch {
	case body.left < 0:
		return nil, fmt.Errorf("the share is larger than %d bytes", limit)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	return items.buildDocument()
}

// boundedReader fails once more than its limit was read.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// sharedSession holds the items of a share: the session, its messages, and their parts in any order.
type sharedSession struct {
	info     jsontext.Value
	messages []rawItem
	parts    map[string][]rawItem // by their message
}

type rawItem struct {
	id  string
	raw jsontext.Value
}

// gatherShare reads the items that make up a session and ignores the others.
func gatherShare(r io.Reader) (*sharedSession, error) {
	none := func(err error) error { return fmt.Errorf("not a share: %w", err) }
	dec := jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	t, err := dec.ReadToken()
	if err == nil && t.Kind() != '[' {
		err = errors.New("the document is not a list")
	}
	if err != nil {
		return nil, none(err)
	}
	s := &sharedSession{parts: map[string][]rawItem{}}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, none(err)
		}
		if err := s.add(v); err != nil {
			return nil, none(err)
		}
	}
	if s.info == nil || len(s.messages) == 0 {
		return nil, session.Errorf(session.CodeInvalid, "the share is empty")
	}
	return s, nil
}

// shareItem is one of a share.
type shareItem struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data"`
}

func (s *sharedSession) add(raw jsontext.Value) error {
	var i shareItem
	if err := json.Unmarshal(raw, &i, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return err
	}
	if i.Type != "session" && i.Type != "message" && i.Type != "part" {
		return nil // such as diffs and models
	}
	var of struct {
		ID        string `json:"id"`
		MessageID string `json:"messageID"`
	}
	if err := json.Unmarshal(i.Data, &of, jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true)); err != nil {
		return err
	}
	v := rawItem{of.ID, repairText(i.Data)}
	switch i.Type {
	case "session":
		s.info = v.raw
	case "message":
		s.messages = append(s.messages, v)
	case "part":
		s.parts[of.MessageID] = append(s.parts[of.MessageID], v)
	}
	return nil
}

// buildDocument writes the items in the form of an export, in their order: that of their ids.
func (s *sharedSession) buildDocument() (*bytes.Reader, error) {
	var b bytes.Buffer
	enc := jsontext.NewEncoder(&b, jsontext.Multiline(true), jsontext.AllowDuplicateNames(true))
	err := writeTokens(enc, jsontext.BeginObject, jsontext.String("info"))
	if err == nil {
		err = enc.WriteValue(s.info)
	}
	if err == nil {
		err = writeTokens(enc, jsontext.String("messages"), jsontext.BeginArray)
	}
	byID := func(a, b rawItem) int { return cmp.Compare(a.id, b.id) }
	slices.SortStableFunc(s.messages, byID)
	for _, m := range s.messages {
		if err != nil {
			return nil, err
		}
		parts := s.parts[m.id]
		slices.SortStableFunc(parts, byID)
		err = shareMessage(enc, m, parts)
		delete(s.parts, m.id) // written: it is not held twice
	}
	if err == nil {
		err = writeTokens(enc, jsontext.EndArray, jsontext.EndObject)
	}
	return bytes.NewReader(b.Bytes()), err
}

func shareMessage(enc *jsontext.Encoder, m rawItem, parts []rawItem) error {
	if err := writeTokens(enc, jsontext.BeginObject, jsontext.String("info")); err != nil {
		return err
	}
	if err := enc.WriteValue(m.raw); err != nil {
		return err
	}
	if err := writeTokens(enc, jsontext.String("parts"), jsontext.BeginArray); err != nil {
		return err
	}
	for _, p := range parts {
		if err := enc.WriteValue(p.raw); err != nil {
			return err
		}
	}
	return writeTokens(enc, jsontext.EndArray, jsontext.EndObject)
}
