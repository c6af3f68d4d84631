package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Item is one value of a shared session. It replaces the server's item with the same type and id.
type Item struct {
	Type string         `json:"type"` // session, message, part, session_diff or model
	Data jsontext.Value `json:"data"`
}

// target is a server that speaks OpenCode's protocol of shares:
//
//	POST   /api/share            {sessionID}      -> {id, url, secret}
//	POST   /api/share/{id}/sync  {secret, data: [item]}
//	DELETE /api/share/{id}       {secret}
//	GET    /api/share/{id}/data  -> [item], without authentication
//
// The server is not trusted: call limits the size and the duration of an answer and follows no redirects, and
// createResponse.hasIdentity and checkURL check its fields.
type target struct {
	address   string
	transport http.RoundTripper
}

// The bounds of a request.
const (
	createTimeout = 15 * time.Second
	syncTimeout   = time.Minute
	deleteTimeout = 15 * time.Second
	maxAnswer     = 64 << 10 // bytes that are read of an answer
)

// createResponse is the answer to a new share.
type createResponse struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// hasIdentity reports whether the answer has a valid id and secret, by which the share can be deleted.
func (c *createResponse) hasIdentity() bool {
	return remoteID().MatchString(c.ID) && c.Secret != "" && len(c.Secret) <= maxSecret
}

var remoteID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`) })

// maxSecret bounds the secret and the address of a share, in bytes.
const maxSecret = 2 << 10

// create makes a share without content.
func (t target) create(ctx context.Context, id session.ID) (c createResponse, err error) {
	body := struct {
		SessionID session.ID `json:"sessionID"`
	}{id}
	answer, err := t.call(ctx, createTimeout, http.MethodPost, "/api/share", body)
	if hasStatus(err, http.StatusInternalServerError) {
		// OpenCode's server answers so if it has a share of the session.
		err = fmt.Errorf("%w; the server may hold an earlier share of this session, whose secret cairn does not have", err)
	}
	if err != nil {
		return c, err
	}
	if json.Unmarshal(answer, &c) != nil || !c.hasIdentity() {
		return createResponse{}, fmt.Errorf("%s does not answer as a share server", t.address)
	}
	if err := t.checkURL(c.URL); err != nil {
		// Delete the share, which is not used. If that fails, an empty share stays on the server.
		_ = t.delete(ctx, &Share{RemoteID: c.ID, Secret: c.Secret})
		return createResponse{}, err
	}
	return c, nil
}

// checkURL returns why an address that the server answered, which is shown to users, cannot be one of its own: it is no
// address of a page, its host is another one than the server's and none of its subdomains, or it is http while the server
// is https.
func (t target) checkURL(text string) error {
	own, err := url.Parse(t.address)
	if err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil || len(text) > maxSecret || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		terminal.ReplaceControls(text) != text || strings.Contains(text, `\`) {
		return fmt.Errorf("%s does not answer as a share server: its share has no valid address", t.address)
	}
	host, ownHost := strings.ToLower(u.Hostname()), strings.ToLower(own.Hostname())
	isOwn := host == ownHost || net.ParseIP(ownHost) == nil && strings.HasSuffix(host, "."+ownHost)
	if !isOwn || u.Scheme != "https" && u.Scheme != own.Scheme {
		return fmt.Errorf("%s answered the address %s, which is not on that server; check sharing.target", t.address, text)
	}
	return nil
}

// send uploads items.
func (t target) send(ctx context.Context, s *Share, items []Item) error {
	body := struct {
		Secret string `json:"secret"`
		Data   []Item `json:"data"`
	}{s.Secret, items}
	answer, err := t.call(ctx, syncTimeout, http.MethodPost, "/api/share/"+s.RemoteID+"/sync", body)
	if err == nil && !jsontext.Value(answer).IsValid() { // such as the page of a proxy
		err = fmt.Errorf("%s does not answer as a share server", t.address)
	}
	return err
}

// errUnconfirmed means that the server answers not found, which a proxy also does while the server is down.
var errUnconfirmed = errors.New("the server answers not found, which a proxy also does while the server is down")

// delete deletes a share, and checks that the server no longer serves it. The check counts, and the answer to the
// deletion only says what it proves: OpenCode's server answers 500 if there is nothing to delete. An empty list proves
// nothing without an answer to the deletion, because that of a share without content is empty, too. The error
// errUnconfirmed means that the server answers not found to one of both, without a confirmation by the other.
func (t target) delete(ctx context.Context, s *Share) error {
	body := struct {
		Secret string `json:"secret"`
	}{s.Secret}
	// Delete it, then read what the server serves.
	_, failure := t.call(ctx, deleteTimeout, http.MethodDelete, "/api/share/"+s.RemoteID, body)
	answer, err := t.call(ctx, deleteTimeout, http.MethodGet, "/api/share/"+s.RemoteID+"/data", nil)
	var items []jsontext.Value
	isEmpty := err == nil && json.Unmarshal(answer, &items) == nil && items != nil && len(items) == 0
	// Compare both answers.
	switch {
	case isEmpty && (failure == nil || hasStatus(failure, http.StatusInternalServerError)):
		return nil
	case isNotFound(err) && failure == nil:
		return nil
	case isNotFound(err), isEmpty && isNotFound(failure):
		return fmt.Errorf("%s: %w", t.address, errUnconfirmed)
	case failure != nil:
		return failure
	case err != nil:
		return err
	case jsontext.Value(answer).Kind() != '[': // such as the page of a proxy; a long list is not read to its end
		return fmt.Errorf("%s does not answer as a share server", t.address)
	}
	return fmt.Errorf("%s accepted the deletion but still serves the share", t.address)
}

// isNotFound reports whether err is an answer that says that there is no share.
func isNotFound(err error) bool {
	return hasStatus(err, http.StatusNotFound) || hasStatus(err, http.StatusGone)
}

// hasStatus reports whether err is an answer with the status.
func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.status == status
}

// isUnanswered reports whether err means that the server may have got a request and process it, although its answer
// did not come; a proxy before it says so with 502 or 504.
func isUnanswered(err error) bool {
	if hasStatus(err, http.StatusBadGateway) || hasStatus(err, http.StatusGatewayTimeout) {
		return true
	}
	e, ok := errors.AsType[*unansweredError](err)
	if !ok {
		return false
	}
	op, ok := errors.AsType[*net.OpError](e.cause)
	return !ok || op.Op != "dial"
}

// unansweredError means that a request got no answer, or a part of it.
type unansweredError struct {
	address string
	cause   error
}

func (e *unansweredError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %v", e.address, e.cause)
}

func (e *unansweredError) Unwrap() error { return e.cause }

// statusError is an answer with another status than 2xx.
type statusError struct {
	address string
	status  int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers with %d %s", e.address, e.status, http.StatusText(e.status))
}

// call sends a request and returns at most maxAnswer bytes of the answer. It follows no redirect: only the target gets
// the secret.
func (t target) call(ctx context.Context, limit time.Duration, method, path string, body any) (answer []byte, err error) {
	timeout := fmt.Errorf("no answer within %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timeout)
	defer cancel()
	// Prepare the request.
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, t.address+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Cache-Control", "no-cache") // of a proxy: its copy may be older than the last upload
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// Send it within the limit.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := (&http.Client{Transport: t.transport, CheckRedirect: noRedirect}).Do(req)
	if err == nil {
		defer resp.Body.Close()
		answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	// Name the address in all errors.
	switch {
	case ctx.Err() != nil:
		return nil, &unansweredError{t.address, context.Cause(ctx)}
	case err != nil:
		return nil, &unansweredError{t.address, err}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, &statusError{t.address, resp.StatusCode}
	}
	return answer, nil
}
