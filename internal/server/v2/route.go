package v2

import (
	"net/http"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Route is one operation.
type Route struct {
	Method string
	Path   string // a pattern of http.ServeMux
	Body   bool   // it needs a JSON body
	handle func(a *API, w http.ResponseWriter, r *http.Request) error
}

// Routes lists all operations: OpenCode's first, then ours.
func Routes() []Route {
	const get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	const one = "/api/session/{sessionID}"
	return []Route{
		{get, "/api/health", false, (*API).showHealth},
		{get, "/api/location", false, (*API).location},
		{get, "/api/agent", false, (*API).agents},
		{get, "/api/skill", false, (*API).skills},
		{get, "/api/command", false, (*API).commands},
		{get, "/api/model", false, (*API).models},
		{get, "/api/provider", false, (*API).providers},
		{get, "/api/provider/{providerID}", false, (*API).provider},
		{get, "/api/reference", false, (*API).none},
		{get, "/api/integration", false, (*API).none},
		{get, "/api/fs/list", false, (*API).listFiles},
		{get, "/api/fs/find", false, (*API).findFiles},
		{get, "/api/event", false, (*API).feed},

		{get, "/api/session", false, (*API).sessions},
		{post, "/api/session", false, (*API).create},
		{get, "/api/session/active", false, (*API).active},
		{get, one, false, (*API).session},
		{post, one + "/agent", true, (*API).switchAgent},
		{post, one + "/model", true, (*API).switchModel},
		{post, one + "/prompt", true, (*API).prompt},
		{post, one + "/wait", false, (*API).wait},
		{post, one + "/interrupt", false, (*API).interrupt},
		{get, one + "/context", false, (*API).context},
		{get, one + "/message", false, (*API).messages},
		{get, one + "/message/{messageID}", false, (*API).message},
		{get, one + "/history", false, (*API).history},
		{get, one + "/event", false, (*API).events},

		{get, one + "/permission", false, (*API).asks},
		{post, one + "/permission", true, (*API).ask},
		{get, one + "/permission/{requestID}", false, (*API).pendingAsk},
		{post, one + "/permission/{requestID}/reply", true, (*API).reply},
		{get, "/api/permission/request", false, (*API).allAsks},
		{get, "/api/permission/explain", false, (*API).explainPermission},
		{get, "/api/permission/saved", false, (*API).approvals},
		{del, "/api/permission/saved/{id}", false, (*API).revoke},
		{get, one + "/question", false, (*API).questions},
		{post, one + "/question/{requestID}/reply", true, (*API).answerQuestion},
		{post, one + "/question/{requestID}/reject", false, (*API).rejectQuestion},
		{get, "/api/question/request", false, (*API).allQuestions},

		{post, "/api/session/import", true, (*API).importSession},
		{patch, one, true, (*API).update},
		{del, one, false, (*API).remove},
		{get, one + "/children", false, (*API).children},
		{get, one + "/todo", false, (*API).todos},
		{get, one + "/job", false, (*API).jobs},
		{get, one + "/job/{jobID}", false, (*API).job},
		{get, one + "/job/{jobID}/log", false, (*API).jobLog},
		{post, one + "/job/{jobID}/wait", false, (*API).waitJob},
		{post, one + "/job/{jobID}/cancel", false, (*API).cancelJob},
		{get, one + "/status", false, (*API).status},
		{post, one + "/resume", false, (*API).resume},
		{put, one + "/budget", true, (*API).setBudget},
		{get, one + "/inbox", false, (*API).inbox},
		{put, one + "/inbox", true, (*API).reorder},
		{patch, one + "/inbox/{messageID}", true, (*API).changeInput},
		{del, one + "/inbox/{messageID}", false, (*API).withdraw},
		{get, one + "/spend", false, (*API).spent},
		{post, "/api/command/expand", true, (*API).expand},
		{get, "/api/stats", false, (*API).stats},
		{get, "/api/config/explain", false, (*API).explain},
		{get, "/api/doctor", false, (*API).examine},
		{get, "/api/doc", false, (*API).document},
	}
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
	return operations()[e.route.Method+" "+e.route.Path].Names("location[directory]", "location[workspace]")
}

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := checkIDs(r)
	if err == nil {
		err = httpio.CheckDuplicates(r, e.parameters)
	}
	if err == nil && e.route.Body {
		err = httpio.CheckContentType(r)
	}
	if err == nil {
		err = e.route.handle(e.api, w, r)
	}
	if err != nil {
		e.api.fail(w, r, err)
	}
}

// checkIDs refuses ids in the path that can be nobody's.
func checkIDs(r *http.Request) error {
	for _, p := range []struct {
		name   string
		prefix session.Prefix
	}{{"sessionID", session.PrefixSession}, {"messageID", session.PrefixMessage}, {"jobID", session.PrefixJob}} {
		if v := r.PathValue(p.name); v != "" {
			if err := session.CheckID(p.name, p.prefix, v); err != nil {
				return httpio.WithPart("params", err)
			}
		}
	}
	if v := r.PathValue("requestID"); v != "" && !strings.HasPrefix(v, string(session.PrefixPermission)) && !strings.HasPrefix(v, string(session.PrefixQuestion)) {
		return httpio.WithPart("params", session.CheckID("requestID", session.PrefixPermission, v))
	}
	return nil
}
