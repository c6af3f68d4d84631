package sharetarget

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// maxBody bounds the body of a request.
const maxBody = 64 << 20

// wireBody has the members of all requests.
type wireBody struct {
	SessionID *string `json:"sessionID"`
	Secret    *string `json:"secret"`
	Data      *[]Item `json:"data"`
}

// created is the answer to Create.
type created struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// answer is a response before it is written.
type answer struct {
	status int
	kind   string // Content-Type
	body   string
}

var (
	errUnknownShare = errors.New("the share does not exist")
	errWrongSecret  = errors.New("the secret is wrong")
	errIsShared     = errors.New("the session is shared already")
)

// serve records the request, applies the fault of its operation, acts and answers. It returns false if the connection
// is to be closed without a response: the target is down, or the client left while the request was held.
func (t *Target) serve(w http.ResponseWriter, r *http.Request) bool {
	req, malformed := readRequest(r)

	// Record the request at its arrival, so that a test can wait for one that is held.
	t.mu.Lock()
	n := len(t.requests)
	t.requests = append(t.requests, req)
	if malformed != nil {
		t.problems = append(t.problems, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, malformed))
	}
	fault, released := t.faults[req.Operation], t.released
	t.announce()
	t.mu.Unlock()

	// Wait if it is held; then the request is answered as usual.
	if fault == Held {
		select {
		case <-released:
			fault = ""
		case <-r.Context().Done():
			return false
		}
	}
	if fault == Down {
		return false
	}

	// Act and decide on the answer under one lock: the state is the one that the status tells.
	t.mu.Lock()
	a := answer{http.StatusBadRequest, "text/plain", fmt.Sprint(malformed)}
	if malformed == nil {
		a = t.decide(req, fault, "http://"+r.Host)
	}
	t.requests[n].Status = a.status
	t.announce()
	t.mu.Unlock()
	if fault == Late {
		select {
		case <-released:
		case <-r.Context().Done():
			return false
		}
	}

	w.Header().Set("Content-Type", a.kind)
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
	return true
}

// decide carries out the request and returns the answer. It needs the lock.
func (t *Target) decide(req Request, fault Fault, base string) answer {
	switch fault {
	case Page:
		return answer{http.StatusOK, "text/html", "<!doctype html><html><body>Sign in</body></html>"}
	case Broken:
		return answer{http.StatusInternalServerError, "text/plain", "Internal Server Error"}
	case TimedOut:
		return answer{http.StatusGatewayTimeout, "text/plain", "504 Gateway Timeout"}
	case Missing:
		return answer{http.StatusNotFound, "text/plain", "404 Not Found"}
	case Empty:
		return answer{http.StatusOK, "application/json", "{}"}
	}
	var body any = struct{}{}
	var err error
	switch req.Operation {
	case Create:
		body, err = t.create(req.Session, fault, base)
	case Sync:
		err = t.sync(req)
	case Delete:
		err = t.remove(req, fault)
	case Data:
		body = t.listItems(req.Share)
	}
	if err != nil { // the service tells nothing else
		return answer{http.StatusInternalServerError, "text/plain", "Internal Server Error"}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return answer{http.StatusInternalServerError, "text/plain", err.Error()}
	}
	return answer{http.StatusOK, "application/json", string(text)}
}

func (t *Target) create(session string, fault Fault, base string) (created, error) {
	id := session[max(0, len(session)-8):]
	if t.shares[id] != nil {
		return created{}, errIsShared
	}
	t.secrets++
	secret := fmt.Sprintf("secret-%d-of-%s", t.secrets, id)
	t.shares[id] = &share{secret: secret, items: map[string]Item{}}
	// What is answered may not be what is stored.
	switch fault {
	case OtherID:
		id = "other-" + id
	case EmptySecret:
		secret = ""
	case OtherHost:
		base = "https://elsewhere.example"
	case BadURL:
		base = "javascript://" + base
	}
	return created{ID: id, URL: base + "/share/" + id, Secret: secret}, nil
}

// find returns the share if the secret is the right one.
func (t *Target) find(req Request) (*share, error) {
	s := t.shares[req.Share]
	switch {
	case s == nil:
		return nil, errUnknownShare
	case s.secret != req.Secret:
		return nil, errWrongSecret
	}
	return s, nil
}

func (t *Target) sync(req Request) error {
	s, err := t.find(req)
	if err != nil {
		return err
	}
	for _, item := range req.Items {
		key, err := item.findKey()
		if err != nil {
			return err
		}
		s.items[key] = item
	}
	return nil
}

func (t *Target) remove(req Request, fault Fault) error {
	if _, err := t.find(req); err != nil {
		return err
	}
	if fault != KeepData {
		delete(t.shares, req.Share)
	}
	return nil
}

// readRequest reads a request. With an error, the request is malformed and has what was read of it.
func readRequest(r *http.Request) (Request, error) {
	req := Request{At: time.Now(), Path: r.URL.Path, Header: r.Header.Clone()}

	// The operation is given by the method and the path.
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(segments) < 2 || segments[0] != "api" || segments[1] != "share" || len(segments) > 2 && segments[2] == "" {
		return req, errors.New("the path is unknown")
	}
	if len(segments) > 2 {
		req.Share = segments[2]
	}
	switch route := r.Method + " " + strings.Join(segments[min(3, len(segments)):], "/"); {
	case route == "POST " && len(segments) == 2:
		req.Operation = Create
	case route == "POST sync":
		req.Operation = Sync
	case route == "DELETE " && len(segments) == 3:
		req.Operation = Delete
	case route == "GET data":
		req.Operation = Data
		return req, nil
	default:
		return req, errors.New("the path does not have this method")
	}

	// All others have a JSON object.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return req, fmt.Errorf("the Content-Type is %q", r.Header.Get("Content-Type"))
	}
	var body wireBody
	if err := json.UnmarshalRead(io.LimitReader(r.Body, maxBody), &body); err != nil {
		return req, err
	}
	return req, req.take(body)
}

// take fills the request from its body, and returns an error if the body is not one of its operation.
func (req *Request) take(body wireBody) error {
	switch {
	case req.Operation == Create && (body.SessionID == nil || *body.SessionID == ""):
		return errors.New("the body lacks sessionID")
	case req.Operation == Create:
		req.Session = *body.SessionID
		return nil
	case body.Secret == nil:
		return errors.New("the body lacks secret")
	}
	req.Secret = *body.Secret
	if req.Operation != Sync {
		return nil
	}
	if body.Data == nil {
		return errors.New("the body lacks data")
	}
	req.Items = *body.Data
	for _, item := range req.Items {
		if _, err := item.findKey(); err != nil {
			return err
		}
	}
	return nil
}
