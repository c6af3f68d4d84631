package v2

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:generate go test . -run TestDocumentIsCurrent -update

func (a *API) document(w http.ResponseWriter, _ *http.Request) error {
	doc, err := Document()
	if err != nil {
		return err
	}
	return httpio.WriteJSON(w, http.StatusOK, doc)
}

// Document returns the OpenAPI document of the contract: the routes, as our types make them.
func Document() ([]byte, error) {
	said := described()
	var out []openapi.Operation
	for _, r := range Routes() {
		o := said[r.Method+" "+r.Path]
		o.Method, o.Path = r.Method, r.Path
		if o.ID == "" {
			o.ID = strings.ToLower(r.Method) + strings.NewReplacer("/", ".", "{", "", "}", "").Replace(strings.TrimPrefix(r.Path, "/api"))
		}
		o.Fails = map[string]reflect.Type{}
		for _, status := range []string{"400", "401", "403", "404", "409", "413", "429", "500", "503"} {
			o.Fails[status] = is[refusal]()
		}
		out = append(out, o)
	}
	return openapi.Document("cairn, the V2 contract", "2", out, types())
}

// refusal is what an operation answers when it does not do what it should (api.EncodeError).
type refusal struct{}

// types says what the types of the contract do not: the values of names, and what stands behind interfaces.
func types() openapi.Types {
	return openapi.Types{
		Enums: map[reflect.Type][]string{
			is[session.Effect]():       {"allow", "deny", "ask"},
			is[session.AgentMode]():    {"subagent", "primary", "all"},
			is[session.Reply]():        {"once", "always", "reject"},
			is[session.Delivery]():     {"steer", "queue"},
			is[session.TodoStatus]():   {"pending", "in_progress", "completed", "cancelled"},
			is[session.TodoPriority](): {"high", "medium", "low"},
			is[session.JobStatus]():    {"running", "ended", "timeout", "cancelled", "interrupted", "failed"},
			is[session.ToolStatus]():   {"pending", "running", "completed", "error"},
		},
		Forms: map[reflect.Type]string{
			is[session.USD](): `{"type":"number"}`,
			is[aNumber]():     `{"type":"number"}`,
			is[refusal]():     `{"type":"object","required":["_tag","message"],"properties":{"_tag":{"type":"string"},"message":{"type":"string"}}}`,
		},
		Unions: map[reflect.Type]openapi.Union{
			is[session.Message](): {By: "type", Of: map[string]reflect.Type{
				string(session.TypeUser): is[session.User](), string(session.TypeSynthetic): is[session.Synthetic](),
				string(session.TypeSystem): is[session.System](), string(session.TypeShell): is[session.Shell](),
				string(session.TypeAgentSwitch): is[session.AgentSwitch](), string(session.TypeModelSwitch): is[session.ModelSwitch](),
				string(session.TypeAssistant): is[session.Assistant](), string(session.TypeCompaction): is[session.Compaction](),
			}},
			is[session.Content](): {By: "type", Of: map[string]reflect.Type{
				"text": is[session.Text](), "reasoning": is[session.Reasoning](), "tool": is[session.Tool](),
			}},
			is[shownEvent](): {By: "type", In: "data", Of: eventData()},
		},
	}
}

// shownEvent is a frame, as append writes it.
type shownEvent struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Durable *struct {
		AggregateID session.ID `json:"aggregateID"`
		Seq         int64      `json:"seq"`
		Version     int        `json:"version"`
	} `json:"durable,omitzero"`
	Location  *session.Location `json:"location,omitzero"`
	Ephemeral bool              `json:"ephemeral,omitzero"`
	Elided    bool              `json:"elided,omitzero"`
	Data      jsontext.Value    `json:"data"`
}

// history is api.History, whose events write themselves.
type history struct {
	Data    []shownEvent `json:"data"`
	HasMore bool         `json:"hasMore"`
}

// eventData is what events of each kind hold: those that are kept, live text, and what is told under other names.
func eventData() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"server.connected": is[nothingSaid](), "session.status": is[statusChanged](), "todo.updated": is[session.TodosUpdated](),
		"permission.v2.asked": is[session.PendingAsk](), "permission.v2.replied": is[session.AskReplied](),
		"question.v2.asked": is[session.QuestionAsked](), "question.v2.replied": is[session.QuestionReplied](), "question.v2.rejected": is[session.QuestionRejected](),
	}
	for _, k := range session.Kinds() {
		if d, err := session.DecodeData(k, 1, jsontext.Value(`{}`)); err == nil {
			out[string(k)] = reflect.TypeOf(d).Elem()
		}
	}
	for _, item := range []session.FragmentItem{session.FragmentText, session.FragmentReasoning, session.FragmentToolInput} {
		out[string(session.Fragment{Item: item}.Kind())] = is[session.FragmentData]()
	}
	return out
}

// Types that only say what something is in the document.
type (
	aNumber       struct{} // a parameter
	nothingSaid   struct{}
	statusChanged struct {
		SessionID session.ID `json:"sessionID"`
		Status    api.Status `json:"status"`
	}
)

func is[T any]() reflect.Type { return reflect.TypeFor[T]() }

// query makes parameters of their names: limit# is a number, and order=asc|desc is one of the words.
func query(names ...string) (out []openapi.Parameter) {
	for _, name := range names {
		p := openapi.Parameter{Name: name, Type: is[string]()}
		if base, ok := strings.CutSuffix(name, "#"); ok {
			p.Name, p.Type = base, is[aNumber]()
		}
		if base, words, ok := strings.Cut(name, "="); ok {
			p.Name, p.Enum = base, strings.Split(words, "|")
		}
		if name == "location" {
			p.Type = is[locationQuery]()
		}
		out = append(out, p)
	}
	return out
}

type locationQuery struct {
	Directory string `json:"directory"`
	Workspace string `json:"workspace"`
}
