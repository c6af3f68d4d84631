package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// The waits of the device flow. The server says how long to wait between two questions.
const (
	devicePause    = 5 * time.Second
	maxDevicePause = time.Minute
	maxDeviceFails = 10 // in a row
)

// device is one login by the device flow (RFC 8628).
type device struct {
	client         *http.Client
	id             string
	codeAt, keysAt string
}

// offered is what the server lets somebody log in with.
type offered struct {
	Device   string `json:"device_code"`
	User     string `json:"user_code"`
	At       string `json:"verification_uri"`
	Expires  int64  `json:"expires_in"` // seconds
	Interval int64  `json:"interval"`   // seconds
}

// GitHub logs in by the device flow and returns GitHub's token.
func (l Login) GitHub(ctx context.Context) (string, error) {
	if l.ClientID == "" {
		return "", errors.New("GitHub asks in whose name you log in: set provider.github-copilot.options.clientId to the id of an OAuth app of yours or your organisation's")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, errNobody)
	defer cancel()
	base := cmp.Or(l.Base, "https://github.com")
	d := device{l.Client, l.ClientID, base + "/login/device/code", base + "/login/oauth/access_token"}
	token, err := d.login(ctx, l.Say)
	if err != nil {
		return "", loginError("GitHub", cmp.Or(context.Cause(ctx), err))
	}
	return token, nil
}

func (d device) login(ctx context.Context, say func(url, code string)) (string, error) {
	var o offered
	if err := d.post(ctx, d.codeAt, url.Values{"client_id": {d.id}, "scope": {"read:user"}}, &o); err != nil {
		return "", err
	}
	if o.Device == "" || o.User == "" || !strings.HasPrefix(o.At, "https://") && !strings.HasPrefix(o.At, "http://") {
		return "", errors.New("it answered without a code")
	}
	if o.Expires > 0 && o.Expires < int64(loginTime/time.Second) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(o.Expires)*time.Second, errNobody)
		defer cancel()
	}
	say(o.At, o.User)
	return d.poll(ctx, o)
}

// pause is how long to wait, as far as it makes sense.
func pause(seconds int64) time.Duration {
	if seconds <= 0 {
		return devicePause
	}
	return time.Duration(min(seconds, int64(maxDevicePause/time.Second))) * time.Second
}

// poll asks until somebody has typed the code. A network that fails meanwhile, or a server, is asked again, more slowly.
func (d device) poll(ctx context.Context, o offered) (string, error) {
	wait, fails := pause(o.Interval), 0
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(wait):
		}
		var got struct {
			Token    string `json:"access_token"`
			Interval int64  `json:"interval"`
		}
		err := d.post(ctx, d.keysAt, url.Values{"client_id": {d.id}, "device_code": {o.Device}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}}, &got)
		said, _ := errors.AsType[*deviceError](err)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err == nil && got.Token != "":
			return got.Token, nil
		case err == nil:
			return "", errors.New("it answered without a token")
		case said != nil && said.name == "authorization_pending":
			fails = 0
		case said != nil && said.name == "slow_down":
			wait, fails = max(wait+devicePause, pause(said.interval)), 0
		case said != nil:
			return "", refusal(said.name, said.description)
		case !passes(err) || fails >= maxDeviceFails:
			return "", err
		default:
			fails, wait = fails+1, min(2*wait, maxDevicePause)
		}
	}
}

// deviceError is what the server says instead of an answer.
type deviceError struct {
	name, description string
	interval          int64
}

func (e *deviceError) Error() string { return refusal(e.name, e.description).Error() }

// unavailable is a server that has trouble.
type unavailable struct{ status int }

func (e *unavailable) Error() string { return fmt.Sprintf("it answered with HTTP %d", e.status) }

// passes reports whether a failure may pass by itself: of the network, or of a server that has trouble.
func passes(err error) bool {
	if _, ok := errors.AsType[*unavailable](err); ok {
		return true
	}
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// post sends a form and reads the answer. GitHub says what is wrong with status 200.
func (d device) post(ctx context.Context, to string, form url.Values, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return &url.Error{Op: "read", URL: to, Err: err}
	}
	var said struct {
		Name        string `json:"error"`
		Description string `json:"error_description"`
		Interval    int64  `json:"interval"`
	}
	plain := json.Unmarshal(raw, &said) == nil // an error of it may quote a token
	switch {
	case plain && said.Name != "":
		return &deviceError{said.Name, said.Description, said.Interval}
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return &unavailable{resp.StatusCode}
	case !good(resp):
		return fmt.Errorf("it answered with HTTP %d", resp.StatusCode)
	case !plain || json.Unmarshal(raw, answer) != nil:
		return errors.New("what answers is not GitHub: a login page of this network, or a proxy, may be in between")
	}
	return nil
}
