package httpio

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// HeaderDefaultDirectory is the header with the directory of requests that name none, percent-encoded: that of the
// process that relays them.
const HeaderDefaultDirectory = "X-Cairn-Default-Directory"

// HeaderCaller is the header with the caller of a relayed request.
const HeaderCaller = "X-Cairn-Caller"

// DefaultDirectory returns the directory of a request that names none: that of the header, else ours.
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

// Locator finds the location of requests: in the query, else in the headers, else its own Directory.
type Locator struct {
	QueryDirectory, QueryWorkspace string // names of parameters

	Directory string // of requests that name none
	Relative  bool   // a relative directory is below Directory instead of an error
}

// Locate returns the location of the request, and whether the request names it. The header may be percent-encoded.
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

const maxDirectory = 4096 // bytes, the limit of most systems

// CleanLocation refuses directories that are not absolute paths and returns the clean location.
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
		return l, session.Errorf(session.CodeInvalid, "the directory %s, got %q", wrong, session.ClipText(l.Directory, 200)).
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
