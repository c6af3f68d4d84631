package operation

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/caller"
)

// Routes finds what a request needs before it reaches its operation.
type Routes struct {
	mux     *http.ServeMux
	unknown Route
}

// Route holds the requirements of a request.
type Route struct {
	Role   caller.Role
	Stream bool // events until the client leaves
}

// NewRoutes returns the routes of the operations. Requests to other routes need the scope unknown.
func NewRoutes(unknown caller.Role, operations ...Operation) Routes {
	t := Routes{http.NewServeMux(), Route{Role: unknown}}
	for _, o := range operations {
		t.mux.Handle(o.Method+" "+o.Path, routeHandler{Route{o.Role, o.IsStream()}})
	}
	return t
}

// Find returns what the request needs.
func (t Routes) Find(r *http.Request) Route {
	h, _ := t.mux.Handler(TrimSlashes(r))
	if h, ok := h.(routeHandler); ok {
		return h.route
	}
	return t.unknown
}

// routeHandler is only found, never called.
type routeHandler struct{ route Route }

func (routeHandler) ServeHTTP(http.ResponseWriter, *http.Request) {}

// TrimSlashes removes slashes from both ends of the path, as OpenCode does: people join addresses that end with a
// slash and paths that begin with one. The stages saw the original path. Requests to delete must name their target
// exactly, because a truncated path would name more than the full one.
func TrimSlashes(r *http.Request) *http.Request {
	was := r.URL.EscapedPath()
	path := "/" + strings.Trim(was, "/")
	if path == was || r.Method == http.MethodDelete {
		return r
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return r // the contract answers 404
	}
	u := *r.URL
	u.Path, u.RawPath = plain, path
	clean := *r
	clean.URL = &u
	return &clean
}
