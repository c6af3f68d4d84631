package v1

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

func loginRoutes() []Route {
	return []Route{
		{get, "/provider/auth", "provider.auth", (*API).authMethods},
		{post, "/provider/{providerID}/oauth/authorize", "provider.oauth.authorize", (*API).authorize},
		{post, "/provider/{providerID}/oauth/callback", "provider.oauth.callback", (*API).loggedIn},
	}
}

// authMethod is a way to give a provider its credential. Clients name it by its number in the provider's list.
type authMethod struct {
	Type  string `json:"type" enum:"oauth,api"`
	Label string `json:"label"`
}

// loginMethod is the number of the login with a browser, where there is one.
const loginMethod = 0

// authMethods lists the ways: the login with a browser where the vendor offers one, and a plain key.
func (a *API) authMethods(w http.ResponseWriter, r *http.Request) error {
	p, err := found(a, r, a.places.Providers)
	if err != nil {
		return err
	}
	out := map[string][]authMethod{}
	logins := a.places.Logins()
	for _, v := range p.All {
		if label := logins[v.ID]; label != "" {
			out[v.ID] = append(out[v.ID], authMethod{"oauth", label})
		}
		if len(v.Env) > 0 {
			out[v.ID] = append(out[v.ID], authMethod{"api", "API key"})
		}
	}
	return write(w, out)
}

// loginOrder is what a client says of a login.
type loginOrder struct {
	Method *int              `json:"method"`
	Inputs map[string]string `json:"inputs"` // which no login here asks for
	Code   string            `json:"code"`   // nor does anybody type one here: vendors are told where to answer
}

// authorization is where a person goes to log in. The answer comes by itself.
type authorization struct {
	URL          string `json:"url"`
	Method       string `json:"method" enum:"auto,code"`
	Instructions string `json:"instructions"`
}

// authorize begins a login with a browser and answers with where a person goes. One that was begun before is given up.
func (a *API) authorize(w http.ResponseWriter, r *http.Request) error {
	id, err := a.loginOf(r)
	if err != nil {
		return err
	}
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	to, err := a.logins.begin(r.Context(), id, func(ctx context.Context, say func(url, code string)) error {
		return a.places.LogIn(ctx, l, id, say)
	})
	if err != nil {
		return httpio.WithPart("params", err)
	}
	says := "Finish the login in the browser; it is noticed here."
	if to.code != "" {
		says = "Enter code: " + to.code
	}
	return write(w, authorization{to.url, "auto", says})
}

// loggedIn waits for the end of the login that was begun: what it gave is kept then.
func (a *API) loggedIn(w http.ResponseWriter, r *http.Request) error {
	id, err := a.loginOf(r)
	if err != nil {
		return err
	}
	ctx, end := a.long.Start(r, "")
	defer end()
	err = a.logins.wait(ctx, id)
	switch {
	case err == nil:
		return yes(w)
	case errors.Is(err, errNoLogin):
		return writeStatus(w, http.StatusBadRequest, envelope("ProviderAuthOauthMissing", "no login at "+id+" was begun"))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return writeStatus(w, http.StatusBadRequest, envelope("ProviderAuthOauthCallbackFailed", httpio.Clip(httpio.PublicError(err).Error(), maxMessage)))
	}
}

// loginOf returns the provider of the request, which offers the login that the body names.
func (a *API) loginOf(r *http.Request) (string, error) {
	b, err := httpio.Decode[loginOrder](r)
	if err != nil {
		return "", err
	}
	id, logins := r.PathValue("providerID"), a.places.Logins()
	switch {
	case b.Method == nil:
		return "", httpio.Invalid("body", "method", "method is missing")
	case logins[id] == "":
		return "", httpio.Invalid("params", "providerID", "%q has no login with a browser; these have: %v", httpio.Clip(id, 80), slices.Sorted(maps.Keys(logins)))
	case *b.Method != loginMethod:
		return "", httpio.Invalid("body", "method", "method %d of %s is no login with a browser; %d is", *b.Method, id, loginMethod)
	default:
		return id, nil
	}
}

// vendorLogins are those with a browser that clients have begun, one of a provider at a time. The zero value is ready.
type vendorLogins struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards the rest
	begun  map[string]*vendorLogin
	closed bool
}

// vendorLogin is one of them.
type vendorLogin struct {
	cancel context.CancelFunc
	shown  chan invitation // holds one
	done   chan struct{}   // closed when it is over
	err    error           // then
}

// invitation is where a person goes, and what is typed there.
type invitation struct{ url, code string }

var errNoLogin = errors.New("no login was begun")

// begin lets do log in and returns what it says first. It goes on when the request is over, until it ends by itself, another
// login of the provider begins, or close is called.
func (l *vendorLogins) begin(ctx context.Context, id string, do func(ctx context.Context, say func(url, code string)) error) (invitation, error) {
	one, before, err := l.add(ctx, id, do)
	if err != nil {
		return invitation{}, err
	}
	if before != nil {
		<-before.done
	}
	select {
	case to := <-one.shown:
		return to, nil
	case <-one.done:
		return invitation{}, one.err
	case <-ctx.Done():
		one.cancel()
		return invitation{}, context.Cause(ctx)
	}
}

// add begins a login once the one before, which it gives up and returns, is over.
func (l *vendorLogins) add(ctx context.Context, id string, do func(ctx context.Context, say func(url, code string)) error) (one, before *vendorLogin, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, httpio.ErrShuttingDown
	}
	if before = l.begun[id]; before != nil {
		before.cancel()
	}
	if l.begun == nil {
		l.begun = map[string]*vendorLogin{}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one = &vendorLogin{cancel: cancel, shown: make(chan invitation, 1), done: make(chan struct{})}
	l.begun[id] = one
	l.running.Go(func() { // ends with do, which ends with ctx; close waits
		defer cancel()
		defer close(one.done)
		if before != nil {
			<-before.done
		}
		one.err = do(ctx, func(url, code string) { one.shown <- invitation{url, code} })
	})
	return one, before, nil
}

// wait returns how the login of the provider went that was begun last, once. A login that ctx leaves goes on.
func (l *vendorLogins) wait(ctx context.Context, id string) error {
	l.mu.Lock()
	one := l.begun[id]
	l.mu.Unlock()
	if one == nil {
		return errNoLogin
	}
	select {
	case <-one.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun[id] == one {
		delete(l.begun, id)
	}
	return one.err
}

// close gives up all and waits for them. None begins from then on.
func (l *vendorLogins) close() {
	l.mu.Lock()
	l.closed = true
	for _, one := range l.begun {
		one.cancel()
	}
	l.mu.Unlock()
	l.running.Wait()
}

// keepToken keeps what a login of the client's own gave.
func (a *API) keepToken(ctx context.Context, providerID string, c credential) error {
	switch {
	case c.Refresh == "":
		return httpio.Invalid("body", "refresh", "refresh is missing")
	case c.Expires == nil || *c.Expires < 0:
		return httpio.Invalid("body", "expires", "expires is missing, or negative")
	case c.EnterpriseURL != "":
		return httpio.Invalid("body", "enterpriseUrl", "enterpriseUrl is not kept with a login: set provider.%s.options.enterpriseUrl", httpio.Clip(providerID, 80))
	}
	t := auth.Token{Refresh: auth.NewSecret(c.Refresh), Access: auth.NewSecret(c.Access)}
	if *c.Expires > 0 {
		t.Expires = time.UnixMilli(*c.Expires)
	}
	return httpio.WithPart("body", a.places.SetToken(ctx, providerID, t))
}
