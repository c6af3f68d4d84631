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

// The bounds of polling. The server can set the interval.
const (
	defaultPollInterval = 5 * time.Second
	maxPollInterval     = time.Minute
	maxPollFailures     = 10 // consecutive
)

// deviceFlow is one login by the OAuth device flow (RFC 8628).
type deviceFlow struct {
	client            *http.Client
	clientID          string
	codeURL, tokenURL string
}

// deviceCode is the server's answer to the start of a login.
type deviceCode struct {
	Device   string `json:"device_code"`
	User     string `json:"user_code"`
	At       string `json:"verification_uri"`
	Expires  int64  `json:"expires_in"` // seconds
	Interval int64  `json:"interval"`   // seconds
}

// GitHub logs in by the device flow and returns GitHub's token.
func (l Login) GitHub(ctx context.Context) (string, error) {
	if l.ClientID == "" {
		return "", errors.New(
			"the login at GitHub needs an OAuth app: set provider.github-copilot.options.clientId to the client id of your " +
				"own or your organisation's app",
		)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, errLoginTimeout)
	defer cancel()
	base := cmp.Or(l.Base, "https://github.com")
	d := deviceFlow{l.Client, l.ClientID, base + "/login/device/code", base + "/login/oauth/access_token"}
	token, err := d.login(ctx, l.Show)
	if err != nil {
		return "", loginError("GitHub", cmp.Or(context.Cause(ctx), err))
	}
	return token, nil
}

func (d deviceFlow) login(ctx context.Context, say func(url, code string)) (string, error) {
	var o deviceCode
	if err := d.postForm(ctx, d.codeURL, url.Values{"client_id": {d.clientID}, "scope": {"read:user"}}, &o); err != nil {
		return "", err
	}
	if o.Device == "" || o.User == "" || !strings.HasPrefix(o.At, "https://") && !strings.HasPrefix(o.At, "http://") {
		return "", errors.New("the response contains no code")
	}
	if o.Expires > 0 && o.Expires < int64(loginTimeout/time.Second) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(o.Expires)*time.Second, errLoginTimeout)
		defer cancel()
	}
	say(o.At, o.User)
	return d.poll(ctx, o)
}

// pollInterval returns the server's interval within bounds.
func pollInterval(seconds int64) time.Duration {
	if seconds <= 0 {
		return defaultPollInterval
	}
	return time.Duration(min(seconds, int64(maxPollInterval/time.Second))) * time.Second
}

// poll asks for the token until the user has entered the code. After a transient failure it waits longer.
func (d deviceFlow) poll(ctx context.Context, o deviceCode) (string, error) {
	wait, fails := pollInterval(o.Interval), 0
	for {
		// Wait first: the user needs time, and the server refuses requests that come too early.
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(wait):
		}
		// Ask for the token.
		var got struct {
			Token    string `json:"access_token"`
			Interval int64  `json:"interval"`
		}
		err := d.postForm(
			ctx, d.tokenURL,
			url.Values{
				"client_id": {d.clientID}, "device_code": {o.Device},
				"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"},
			},
			&got,
		)
		// Refusals that mean "not yet" continue; slow_down also lengthens the interval, as RFC 8628 requires.
		// Others end the login.
		refused, _ := errors.AsType[*deviceError](err)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err == nil && got.Token != "":
			return got.Token, nil
		case err == nil:
			return "", errors.New("the response contains no token")
		case refused != nil && refused.name == "authorization_pending":
			fails = 0
		case refused != nil && refused.name == "slow_down":
			wait, fails = max(wait+defaultPollInterval, pollInterval(refused.interval)), 0
		case refused != nil:
			return "", oauthError(refused.name, refused.description)
		case !isTransient(err) || fails >= maxPollFailures:
			return "", err
		default:
			fails, wait = fails+1, min(2*wait, maxPollInterval)
		}
	}
}

// deviceError is an error object of the server.
type deviceError struct {
	name, description string
	interval          int64
}

func (e *deviceError) Error() string { return oauthError(e.name, e.description).Error() }

// serverError is an HTTP failure that may be transient.
type serverError struct{ status int }

func (e *serverError) Error() string {
	return fmt.Sprintf("the server answered with HTTP %d", e.status)
}

// isTransient reports whether the network or the server failed in a way that may pass.
func isTransient(err error) bool {
	if _, ok := errors.AsType[*serverError](err); ok {
		return true
	}
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// postForm sends a form and decodes the answer. GitHub reports errors with status 200.
func (d deviceFlow) postForm(ctx context.Context, to string, form url.Values, answer any) error {
	// Send the form.
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
	// An error in the body comes before the status, because GitHub sends it with status 200.
	var failure struct {
		Name        string `json:"error"`
		Description string `json:"error_description"`
		Interval    int64  `json:"interval"`
	}
	isObject := json.Unmarshal(raw, &failure) == nil // the decoder's error may quote a token
	switch {
	case isObject && failure.Name != "":
		return &deviceError{failure.Name, failure.Description, failure.Interval}
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return &serverError{resp.StatusCode}
	case !isSuccess(resp):
		return fmt.Errorf("the server answered with HTTP %d", resp.StatusCode)
	case !isObject || json.Unmarshal(raw, answer) != nil:
		return errors.New("the response is not from GitHub: check for a login page of this network or a proxy in between")
	}
	return nil
}
