package v2

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// full reports whether the caller wants our own fields and kinds too.
func full(r *http.Request) bool {
	v := r.URL.Query().Get("all")
	return v == "1" || v == "true"
}

func sessionOf(r *http.Request) session.ID        { return session.ID(r.PathValue("sessionID")) }
func messageOf(r *http.Request) session.MessageID { return session.MessageID(r.PathValue("messageID")) }

// place returns the location of the request, and whether the request named it.
func (a *API) place(r *http.Request) (l session.Location, named bool, err error) {
	return httpio.Locator{
		QueryDirectory: "location[directory]", QueryWorkspace: "location[workspace]", Directory: a.directory,
	}.Locate(r)
}
