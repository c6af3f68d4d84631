package v2

import (
	"maps"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/session"
)

// said is an operation by the name that OpenCode's document has for it, "" if it is ours.
func said[Answer any](id string, names ...string) openapi.Operation {
	return openapi.Operation{ID: id, Answer: is[Answer](), Query: query(names...)}
}

// told is one that reads a body; without answer it is done.
func told[Body any](id string, answer reflect.Type) openapi.Operation {
	return openapi.Operation{ID: id, Body: is[Body](), Answer: answer}
}

// here is one about a location.
func here[Answer any](id string) openapi.Operation { return said[api.Located[Answer]](id, "location") }

// described says of each operation, by method and path, what it reads and answers.
func described() map[string]openapi.Operation {
	out := describedLocations()
	maps.Copy(out, describedSessions())
	maps.Copy(out, describedAsks())
	maps.Copy(out, describedOwn())
	return out
}

func describedLocations() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"GET /api/health":                said[api.Health]("v2.health.get", "all"),
		"GET /api/location":              said[api.LocationInfo]("v2.location.get", "location"),
		"GET /api/agent":                 here[[]session.Agent]("v2.agent.list"),
		"GET /api/skill":                 here[[]api.Skill]("v2.skill.list"),
		"GET /api/command":               here[[]api.Command]("v2.command.list"),
		"GET /api/model":                 here[[]api.Model]("v2.model.list"),
		"GET /api/provider":              here[[]api.Provider]("v2.provider.list"),
		"GET /api/provider/{providerID}": here[api.Provider]("v2.provider.get"),
		"GET /api/reference":             here[[]struct{}]("v2.reference.list"),
		"GET /api/integration":           here[[]struct{}]("v2.integration.list"),
		"GET /api/fs/list":               said[api.Located[[]api.FileEntry]]("v2.fs.list", "location", "path"),
		"GET /api/fs/find":               said[api.Located[[]api.FileEntry]]("v2.fs.find", "location", "query", "type=file|directory", "limit#"),
		"GET /api/event":                 {ID: "v2.event.subscribe", Answer: is[shownEvent](), Media: "text/event-stream", Query: query("location")},
	}
}

func describedSessions() map[string]openapi.Operation {
	const one = "/api/session/{sessionID}"
	return map[string]openapi.Operation{
		"GET /api/session": said[api.Page[session.Session]]("v2.session.list", "workspace", "limit#", "order=asc|desc", "search", "directory", "project",
			"subpath", "cursor", "parent", "archived=true|false", "all"),
		"POST /api/session":                   told[api.CreateSession]("v2.session.create", is[api.Data[session.Session]]()),
		"GET /api/session/active":             said[api.Data[map[session.ID]api.Active]]("v2.session.active"),
		"GET " + one:                          said[api.Data[session.Session]]("v2.session.get", "all"),
		"POST " + one + "/agent":              told[api.AgentRequest]("v2.session.switchAgent", nil),
		"POST " + one + "/model":              told[api.ModelRequest]("v2.session.switchModel", nil),
		"POST " + one + "/prompt":             told[api.PromptRequest]("v2.session.prompt", is[api.Data[session.Input]]()),
		"POST " + one + "/wait":               {ID: "v2.session.wait"},
		"POST " + one + "/interrupt":          {ID: "v2.session.interrupt"},
		"GET " + one + "/context":             said[api.Data[[]session.Message]]("v2.session.context"),
		"GET " + one + "/message":             said[api.Page[session.Message]]("v2.session.messages", "limit#", "order=asc|desc", "cursor"),
		"GET " + one + "/message/{messageID}": said[api.Data[session.Message]]("v2.session.message"),
		"GET " + one + "/history":             said[history]("v2.session.history", "limit#", "after#"),
		"GET " + one + "/event":               {ID: "v2.session.events", Answer: is[shownEvent](), Media: "text/event-stream", Query: query("after#", "live")},
	}
}

func describedAsks() map[string]openapi.Operation {
	const one = "/api/session/{sessionID}"
	return map[string]openapi.Operation{
		"GET " + one + "/permission":                    said[api.Data[[]session.PendingAsk]]("v2.session.permission.list", "all"),
		"POST " + one + "/permission":                   told[api.AskRequest]("v2.session.permission.create", is[api.Data[api.Asked]]()),
		"GET " + one + "/permission/{requestID}":        said[api.Data[session.PendingAsk]]("v2.session.permission.get", "all"),
		"POST " + one + "/permission/{requestID}/reply": told[api.ReplyRequest]("v2.session.permission.reply", nil),
		"GET /api/permission/request":                   here[[]session.PendingAsk]("v2.permission.request.list"),
		"GET /api/permission/explain":                   said[api.Data[api.Verdict]]("", "sessionID", "agent", "action", "resource", "location"),
		"GET /api/permission/saved":                     said[api.Data[[]api.Approval]]("v2.permission.saved.list", "projectID"),
		"DELETE /api/permission/saved/{id}":             {ID: "v2.permission.saved.remove"},
		"GET " + one + "/question":                      said[api.Data[[]session.QuestionAsked]]("v2.session.question.list"),
		"POST " + one + "/question/{requestID}/reply":   told[api.Answers]("v2.session.question.reply", nil),
		"POST " + one + "/question/{requestID}/reject":  {ID: "v2.session.question.reject"},
		"GET /api/question/request":                     here[[]session.QuestionAsked]("v2.question.request.list"),
	}
}

// describedOwn are the operations that OpenCode has not.
func describedOwn() map[string]openapi.Operation {
	const one = "/api/session/{sessionID}"
	return map[string]openapi.Operation{
		"POST /api/session/import":             told[api.ImportRequest]("", is[api.Data[api.Imported]]()),
		"PATCH " + one:                         told[api.SessionPatch]("", is[api.Data[session.Session]]()),
		"DELETE " + one:                        {},
		"GET " + one + "/children":             said[api.Data[[]session.Session]]("", "all"),
		"GET " + one + "/todo":                 said[api.Data[[]session.Todo]](""),
		"GET " + one + "/job":                  said[api.Data[[]session.Job]](""),
		"GET " + one + "/job/{jobID}":          said[api.Data[session.Job]](""),
		"GET " + one + "/job/{jobID}/log":      said[api.Data[api.JobLog]]("", "after#", "limit#"),
		"POST " + one + "/job/{jobID}/wait":    said[api.Data[session.Job]]("", "timeout#"),
		"POST " + one + "/job/{jobID}/cancel":  said[api.Data[session.Job]](""),
		"GET " + one + "/status":               said[api.Data[api.Status]](""),
		"POST " + one + "/resume":              {},
		"PUT " + one + "/budget":               told[api.BudgetRequest]("", nil),
		"GET " + one + "/inbox":                said[api.Data[[]session.Input]](""),
		"PUT " + one + "/inbox":                told[api.InboxOrder]("", nil),
		"PATCH " + one + "/inbox/{messageID}":  told[api.InputPatch]("", nil),
		"DELETE " + one + "/inbox/{messageID}": {},
		"GET " + one + "/spend":                said[api.Data[[]api.Spend]](""),
		"POST /api/command/expand":             told[api.ExpandRequest]("", is[api.Data[api.Expanded]]()),
		"GET /api/stats":                       said[api.Data[api.Stats]]("", "since#"),
		"GET /api/config/explain":              said[api.Data[jsontext.Value]]("", "key", "location"),
		"GET /api/doctor":                      said[api.Data[jsontext.Value]](""),
		"GET /api/doc":                         said[map[string]jsontext.Value](""),
	}
}
