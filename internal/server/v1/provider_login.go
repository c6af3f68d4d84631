package v1

import (
	"context"
	"errors"
	"sync"

	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// providerLogins are the logins that clients started, one per provider at a time. The zero value is ready for use.
type providerLogins struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	started map[string]*providerLogin
	closed  bool
}

// providerLogin is one login.
type providerLogin struct {
	cancel context.CancelFunc
	page   chan plugin.Authorization // capacity 1
	codes  chan string               // capacity 1; that the person got
	done   chan struct{}             // closed at the end
	err    error                     // valid once done is closed

	// Guarded by the mutex of providerLogins.
	wantsCode bool // its page gives the person a code
	hasCode   bool // it was given one
}

// awaitCode returns the code that the person got.
func (l *providerLogin) awaitCode(ctx context.Context) (string, error) {
	select {
	case code := <-l.codes:
		return code, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// loginFunc runs a login and returns when it has ended.
type loginFunc = func(ctx context.Context, d plugin.LoginDialog) error

var errNoLogin = errors.New("no login was started")

// start starts a login and returns its page. The login outlives ctx: it runs until it ends, another login of the
// provider starts, or close is called.
func (l *providerLogins) start(ctx context.Context, id string, run loginFunc) (plugin.Authorization, error) {
	login, previous, err := l.add(ctx, id, run)
	if err != nil {
		return plugin.Authorization{}, err
	}
	if previous != nil {
		<-previous.done
	}
	select {
	case page := <-login.page:
		return page, nil
	case <-login.done:
		return plugin.Authorization{}, login.err
	case <-ctx.Done():
		login.cancel()
		return plugin.Authorization{}, context.Cause(ctx)
	}
}

// add cancels the previous login of the provider, which it returns, and starts a new one after the end of the previous
// one.
func (l *providerLogins) add(ctx context.Context, id string, run loginFunc) (login, previous *providerLogin, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, httpio.ErrShuttingDown
	}
	if previous = l.started[id]; previous != nil {
		previous.cancel()
	}
	if l.started == nil {
		l.started = map[string]*providerLogin{}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	login = &providerLogin{cancel: cancel, page: make(chan plugin.Authorization, 1), done: make(chan struct{})}
	login.codes = make(chan string, 1)
	l.started[id] = login
	l.running.Go(func() { // ends with run, which ends with ctx; close waits for it
		defer cancel()
		defer close(login.done)
		if previous != nil {
			<-previous.done
		}
		show := func(a plugin.Authorization) {
			l.mu.Lock()
			login.wantsCode = a.Method == "code"
			l.mu.Unlock()
			login.page <- a
		}
		login.err = run(ctx, plugin.LoginDialog{Show: show, Code: login.awaitCode})
	})
	return login, previous, nil
}

// lacksCode reports whether the newest login of a provider needs a code that it has not got.
func (l *providerLogins) lacksCode(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	login := l.started[id]
	return login != nil && login.wantsCode && !login.hasCode
}

// giveCode gives the newest login of a provider the code that the person got; one that has a code keeps it.
func (l *providerLogins) giveCode(id, code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if login := l.started[id]; login != nil {
		select {
		case login.codes <- code:
			login.hasCode = true
		default:
		}
	}
}

// wait waits for the end of the newest login of a provider and returns its error, once. The login outlives ctx.
func (l *providerLogins) wait(ctx context.Context, id string) error {
	l.mu.Lock()
	login := l.started[id]
	l.mu.Unlock()
	if login == nil {
		return errNoLogin
	}
	select {
	case <-login.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started[id] == login {
		delete(l.started, id)
	}
	return login.err
}

// close cancels all logins, waits for their end, and refuses further ones.
func (l *providerLogins) close() {
	l.mu.Lock()
	l.closed = true
	for _, login := range l.started {
		login.cancel()
	}
	l.mu.Unlock()
	l.running.Wait()
}
