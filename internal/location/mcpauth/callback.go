package mcpauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// Authenticate logs in at a server and returns when that is done. show gets the address to open. The answer comes to a
// listener on this machine, or, on a machine without a browser, over paste, which has what a person pasted; nil has
// nothing.
func (l *Logins) Authenticate(
	ctx context.Context, name string, c config.MCP, show func(Flow), paste <-chan string,
) error {
	ctx, cancel := context.WithTimeout(ctx, flowTime)
	defer cancel()
	// Listen before a person is sent away. Without a listener, only pasting works.
	s, _, err := readSettings(c)
	if err != nil {
		return err
	}
	answers := make(chan url.Values)
	stop, listenErr := listen(s.redirectURI(), answers)
	defer stop()
	if listenErr != nil && paste == nil {
		return listenErr
	}
	f, err := l.Start(ctx, name, c)
	if err != nil {
		return err
	}
	show(f)
	// Take the first answer to this login. Others may come from pages that guess.
	for {
		select {
		case q := <-answers:
			if q.Get("state") == f.State {
				return l.Finish(ctx, name, c, "?"+q.Encode())
			}
		case text, ok := <-paste:
			switch {
			case ok:
				return l.Finish(ctx, name, c, text)
			case listenErr != nil: // an answer cannot come any more
				return listenErr
			}
			paste = nil
		case <-ctx.Done():
			return fmt.Errorf("log in at the MCP server %s: %w", name, context.Cause(ctx))
		}
	}
}

// donePage is shown in the browser at the end.
const donePage = `<!doctype html><meta charset="utf-8"><title>cairn</title><p>cairn got the answer. You can close this page.`

// listen sends the parameters of requests for the redirect address to answers until stop is called. The address must be
// one of this machine.
func listen(redirect string, answers chan<- url.Values) (stop func(), err error) {
	stop = func() {}
	// Listen on this machine only.
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme != "http" || !net.ParseIP(u.Hostname()).IsLoopback() && u.Hostname() != "localhost" {
		return stop, errors.New("its redirectUri is not one of this machine; paste the address that the browser was sent to")
	}
	listener, err := net.Listen("tcp", u.Host)
	if err != nil {
		return stop, fmt.Errorf("wait for the answer of the browser: %w; set oauth.callbackPort to a free port", err)
	}
	// Pass on the requests for one path, until stop.
	handler, stopped := http.NewServeMux(), make(chan struct{})
	handler.HandleFunc("GET "+cmp.Or(u.Path, "/"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		_, _ = w.Write([]byte(donePage))
		select {
		case answers <- r.URL.Query():
		case <-r.Context().Done():
		case <-stopped:
		}
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	return func() {
		close(stopped)
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(closing) // the browser gets its page
		_ = server.Close()
		<-served
	}, nil
}
