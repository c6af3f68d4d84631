package httpio

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// HeaderDefaultDirectory names the directory of requests that name none, percent-encoded: the one of the process that relays them.
const HeaderDefaultDirectory = "X-Cairn-Default-Directory"

// DefaultDirectory returns the location of a request that names none; ours unless the request says which.
func DefaultDirectory(r *http.Request, ours string) string {
	plain, err := url.PathUnescape(r.Header.Get(HeaderDefaultDirectory))
	if err != nil {
		return ours
	}
	if l, err := CleanLocation(session.Location{Directory: plain}); err == nil {
		return l.Directory
	}
	return ours
}

// Locator finds the location of requests: by the query, then the headers, else its own Directory (spec/v2 HT-4).
type Locator struct {
	QueryDirectory, QueryWorkspace string // the names of the parameters

	Directory string // of requests that name none
	Relative  bool   // a relative directory is one below Directory, not a mistake
}

// Locate returns the location of the request, and whether the request named it. The header may be percent-encoded.
func (c Locator) Locate(r *http.Request) (l session.Location, named bool, err error) {
	q := r.URL.Query()
	l = session.Location{Directory: q.Get(c.QueryDirectory), WorkspaceID: q.Get(c.QueryWorkspace)}
	part := "query"
	if l.Directory == "" {
		if l.Directory = r.Header.Get("X-Opencode-Directory"); l.Directory != "" {
			part = "headers"
			if plain, err := url.PathUnescape(l.Directory); err == nil {
				l.Directory = plain
			}
		}
	}
	if l.WorkspaceID == "" {
		l.WorkspaceID = r.Header.Get("X-Opencode-Workspace")
	}
	if l.Directory == "" {
		l.Directory = DefaultDirectory(r, c.Directory)
		return l, l.WorkspaceID != "", nil
	}
	if c.Relative && !filepath.IsAbs(l.Directory) {
		l.Directory = filepath.Join(DefaultDirectory(r, c.Directory), l.Directory)
	}
	l, err = CleanLocation(l)
	return l, true, WithPart(part, err)
}

const maxDirectory = 4096 // bytes, as systems have it

// CleanLocation refuses directories that name no one place.
func CleanLocation(l session.Location) (session.Location, error) {
	wrong := ""
	switch {
	case len(l.Directory) > maxDirectory:
		wrong = "is too long"
	case strings.ContainsRune(l.Directory, 0):
		wrong = "must not hold a NUL"
	case !utf8.ValidString(l.Directory):
		wrong = "must be UTF-8"
	case !filepath.IsAbs(l.Directory):
		wrong = "must be an absolute path"
	}
	if wrong != "" {
		return l, session.Errorf(session.CodeInvalid, "the directory %s, got %q", wrong, Clip(l.Directory, 200)).
			At("location.directory")
	}
	l.Directory = filepath.ToSlash(filepath.Clean(l.Directory))
	if l.WorkspaceID != "" {
		if err := session.CheckID("location.workspaceID", "wrk", l.WorkspaceID); err != nil {
			return l, err
		}
	}
	return l, nil
}
