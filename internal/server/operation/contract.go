package operation

import (
	"net/http"
	"net/url"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Contract is a table of operations and what all of them have in common.
type Contract struct {
	Operations []Operation
	// Locate returns the location of a request, and whether the request names it.
	Locate func(r *http.Request) (l session.Location, named bool, err error)
	// Fail answers with an error.
	Fail func(w http.ResponseWriter, r *http.Request, err error)
	// RequireJSON refuses bodies that are not declared as JSON.
	RequireJSON bool
	// Unlisted are parameters of the query that every operation reads and the document does not list with it.
	Unlisted []string
}

// NewHandler returns a handler of all operations. Unknown paths are 404 and unknown methods 405, both with a body.
func (c Contract) NewHandler() http.Handler {
	mux := http.NewServeMux()
	for _, o := range c.Operations {
		mux.Handle(o.Method+" "+o.Path, endpoint{&c, o})
	}
	return httpio.Router{Mux: mux, Fail: c.Fail}
}

// endpoint serves one operation.
type endpoint struct {
	contract  *Contract
	operation Operation
}

// ServeHTTP implements http.Handler.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := e.operation.serve(&requestCall{w: w, r: r, contract: e.contract}); err != nil {
		e.contract.Fail(w, r, err)
	}
}

// requestCall is one request on its way to its operation.
type requestCall struct {
	w        http.ResponseWriter
	r        *http.Request
	contract *Contract
	values   url.Values // the query, once it was parsed
}

func (c *requestCall) query() url.Values {
	if c.values == nil {
		c.values = c.r.URL.Query()
	}
	return c.values
}
