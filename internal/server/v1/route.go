package v1

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Route is one operation of OpenCode's document. ID is its operationId there, "" for a shim that older clients call.
type Route struct {
	Method string
	Path   string // a pattern of http.ServeMux
	ID     string
	handle func(a *API, w http.ResponseWriter, r *http.Request) error
}

const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

// Routes lists all operations, group by group.
func Routes() []Route {
	return slices.Concat(
		globalRoutes(),
		logRoutes(),
		placeRoutes(),
		sessionRoutes(),
		messageRoutes(),
		editRoutes(),
		promptRoutes(),
		commandRoutes(),
		shellRoutes(),
		laterRoutes(),
		askRoutes(),
		eventRoutes(),
		offerRoutes(),
		settingsRoutes(),
		loginRoutes(),
		vcsRoutes(),
		fileRoutes(),
		tuiRoutes(),
		everywhereRoutes(),
		ptyRoutes(),
		documentRoutes(),
		absentRoutes(),
	)
}

// endpoint runs one operation and tells its error.
type endpoint struct {
	api   *API
	route Route
}

// operations are made once, and not at the start: few requests depend on them.
var operations = sync.OnceValue(described)

// parameters are the names of what the query may say.
func (e endpoint) parameters() []string {
	return operations()[e.route.ID].Names("directory", "workspace", "ticket")
}

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := checkIDs(r)
	if err == nil {
		err = httpio.CheckDuplicates(r, e.parameters)
	}
	if err == nil {
		err = e.route.handle(e.api, w, r)
	}
	if err != nil {
		e.api.fail(w, r, located(r, err))
	}
}

// located says where in the request the directory stands that the error is about.
func located(r *http.Request, err error) error {
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case !ok || e.Code != session.CodeInvalid || e.Field != "location.directory" && e.Field != "directory":
		return err
	case httpio.ErrorPart(err) == "body": // it names one, too
		return err
	case r.URL.Query().Get("directory") != "":
		return httpio.Invalid("query", "directory", "%s", e.Message)
	case r.Header.Get("X-Opencode-Directory") != "":
		return httpio.Invalid("headers", "x-opencode-directory", "%s", e.Message)
	default: // this server's own
		return session.Errorf(session.CodeInvalid, "%s", e.Message)
	}
}

// checkIDs refuses ids in the path that can be nobody's.
func checkIDs(r *http.Request) error {
	for _, p := range []struct {
		name   string
		prefix session.Prefix
	}{{"sessionID", session.PrefixSession}, {"messageID", session.PrefixMessage}, {"partID", session.PrefixPart}, {"permissionID", session.PrefixPermission}, {"ptyID", pty.Prefix}} {
		if v := r.PathValue(p.name); v != "" {
			if err := session.CheckID(p.name, p.prefix, v); err != nil {
				return httpio.WithPart("params", err)
			}
		}
	}
	if v := r.PathValue("requestID"); v != "" {
		prefix := session.PrefixPermission
		if strings.HasPrefix(r.URL.Path, "/question/") {
			prefix = session.PrefixQuestion
		}
		return httpio.WithPart("params", session.CheckID("requestID", prefix, v))
	}
	return nil
}
