// Package sharepage serves shared sessions to browsers: one page for each session, at an unguessable address, which
// grows while the session continues. A page has no script and no cookie, loads nothing, and is not listed.
//
// Pages writes the pages, in the process that owns the sessions; Server serves them to readers.
package sharepage

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/connlimit"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// Server serves the pages of the shared sessions of a store. It is an http.Handler.
type Server struct {
	API    *api.Client // of the store's owner, which writes the pages
	Logger *slog.Logger

	limits limits
}

// pagePath is the path of a page: 128 random bits.
var pagePath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/s/([0-9a-f]{32})$`) })

// policy allows the page its own style and embedded images, and nothing else.
var policy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(transfer.PageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// ServeHTTP serves a page. A page that is not shared, no longer shared or never was shared is the same 404.
func (p *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // the deadline of an earlier page may have passed
	if r.ContentLength != 0 {
		// net/http would wait for the body without a time limit, whatever the answer is.
		_ = conn.SetReadDeadline(time.Now())
		w.Header().Set("Connection", "close")
		writeText(w, http.StatusBadRequest, "A request for a shared session has no body.")
		return
	}
	leave, ok := p.limits.enter(r)
	if !ok {
		w.Header().Set("Connection", "close") // a client that is refused keeps no connection
		w.Header().Set("Retry-After", "60")
		writeText(w, http.StatusTooManyRequests, "Too many requests. Try again in a minute.")
		return
	}
	defer leave()
	if c, ok := connlimit.FromContext(r.Context()); ok && !c.MakeKnown() {
		w.Header().Set("Connection", "close")
		writeText(w, http.StatusServiceUnavailable, "Too many connections. Try again in a minute.")
		return
	}
	id := pagePath().FindStringSubmatch(r.URL.Path)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		writeText(w, http.StatusMethodNotAllowed, "A shared session can only be read.")
		return
	case id == nil:
		writeText(w, http.StatusNotFound, notFound)
		return
	}
	err := p.show(w, r, id[1])
	switch {
	case err == nil || r.Context().Err() != nil:
	case errors.Is(err, &session.Error{Code: session.CodeNotFound}):
		writeText(w, http.StatusNotFound, notFound)
	default:
		p.Logger.Warn("a shared session cannot be shown", "error", err)
		writeText(w, http.StatusServiceUnavailable, "The session cannot be shown now. Try again in a moment.")
	}
}

const notFound = "There is no shared session here. Its share may have been revoked."

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// show serves the page of the share with the id. If it returns an error, nothing was written.
func (p *Server) show(w http.ResponseWriter, r *http.Request, id string) error {
	ctx := r.Context()
	const media = "text/html; charset=utf-8"
	if r.Method == http.MethodHead {
		_, err := p.API.FindShare(ctx, id)
		if err == nil {
			w.Header().Set("Content-Type", media)
		}
		return err
	}
	return p.API.ReadSharePage(ctx, id, func(page io.Reader) error {
		w.Header().Set("Content-Type", media)
		control := http.NewResponseController(w)
		_, err := io.Copy(deadlineWriter{w, control}, page)
		if err != nil && ctx.Err() == nil {
			p.Logger.Warn("a page ended early", "error", err)
		}
		return nil
	})
}

// deadlineWriter sends each write at once, and bounds its time.
type deadlineWriter struct {
	w       io.Writer
	control *http.ResponseController
}

const writeTimeout = 30 * time.Second

func (p deadlineWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not all servers of tests support it
	n, err := p.w.Write(b)
	if err == nil {
		err = p.control.Flush()
	}
	return n, err
}
