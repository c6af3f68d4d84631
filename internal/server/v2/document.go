package v2

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:generate go test . -run TestDocumentIsCurrent -update

// NewDocument returns the OpenAPI document of the contract.
func NewDocument() ([]byte, error) {
	errors := map[string]reflect.Type{}
	for _, status := range []string{"400", "401", "403", "404", "409", "413", "415", "429", "500", "503"} {
		errors[status] = typeOf[errorEnvelope]()
	}
	return operation.NewDocument(ListOperations(), operation.Description{
		Info: openapi.Info{
			Title: "cairn, the V2 contract", Version: "2",
			Description: "Sessions as cairn stores them. Paths are absolute; the query names the location.",
		},
		Errors: errors, Types: documentTypes(),
	})
}

// errorEnvelope is the body of an error: api.EncodeError.
type errorEnvelope struct{}

// documentTypes describes what the Go types do not say: the values of names, what interfaces may hold, and the names of
// components that differ from those of their types.
func documentTypes() openapi.Types {
	// Values, forms and names first, then the alternatives of messages, their content and events.
	return openapi.Types{
		Enums: map[reflect.Type][]string{
			typeOf[session.Effect]():       {"allow", "deny", "ask"},
			typeOf[session.AgentMode]():    {"subagent", "primary", "all"},
			typeOf[session.Reply]():        {"once", "always", "reject"},
			typeOf[session.Delivery]():     {"steer", "queue"},
			typeOf[session.TodoStatus]():   {"pending", "in_progress", "completed", "cancelled"},
			typeOf[session.TodoPriority](): {"high", "medium", "low"},
			typeOf[session.JobStatus]():    {"running", "ended", "timeout", "cancelled", "interrupted", "failed"},
			typeOf[session.ToolStatus]():   {"pending", "running", "completed", "error"},
		},
		Forms: map[reflect.Type]string{
			typeOf[session.USD]():   `{"type":"number"}`,
			typeOf[errorEnvelope](): `{"type":"object","required":["_tag","message"],"properties":{"_tag":{"type":"string"},"message":{"type":"string"}}}`,
		},
		Names: map[reflect.Type]string{
			typeOf[errorEnvelope](): "Error",

			typeOf[wireEvent]():    "ShownEvent",
			typeOf[wireHistory]():  "History",
			typeOf[emptyObject]():  "NothingSaid",
			typeOf[statusNotice](): "StatusChanged",
		},
		Unions: map[reflect.Type]openapi.Union{
			typeOf[session.Message](): {By: "type", Of: map[string]reflect.Type{
				string(session.TypeUser): typeOf[session.User](), string(session.TypeSynthetic): typeOf[session.Synthetic](),
				string(session.TypeSystem): typeOf[session.System](), string(session.TypeShell): typeOf[session.Shell](),
				string(session.TypeAgentSwitch): typeOf[session.AgentSwitch](),
				string(session.TypeModelSwitch): typeOf[session.ModelSwitch](),
				string(session.TypeAssistant):   typeOf[session.Assistant](),
				string(session.TypeCompaction):  typeOf[session.Compaction](),
			}},
			typeOf[session.Content](): {By: "type", Of: map[string]reflect.Type{
				"text": typeOf[session.Text](), "reasoning": typeOf[session.Reasoning](),
				"tool": typeOf[session.Tool](),
			}},
			typeOf[wireEvent](): {By: "type", In: "data", Of: eventTypes()},
		},
	}
}

// eventTypes are the types of the data of the events, by kind: durable events, live text, and events under other names.
func eventTypes() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"server.connected": typeOf[emptyObject](), "session.status": typeOf[statusNotice](),
		api.EventServerState:  typeOf[serverNotice](),
		eventProject:          typeOf[api.ProjectRecord](),
		session.KindNote:      typeOf[session.Note](),
		"todo.updated":        typeOf[session.TodosUpdated](),
		"permission.v2.asked": typeOf[session.PendingAsk](), "permission.v2.replied": typeOf[session.AskReplied](),
		"question.v2.asked": typeOf[session.QuestionAsked](), "question.v2.replied": typeOf[session.QuestionReplied](),
		"question.v2.rejected": typeOf[session.QuestionRejected](),
	}
	for _, k := range session.ListKinds() {
		if d, err := session.DecodeData(k, 1, jsontext.Value(`{}`)); err == nil {
			out[string(k)] = reflect.TypeOf(d).Elem()
		}
	}
	for _, kind := range []session.Kind{session.KindCreated, session.KindDeleted, "session.updated"} {
		out[string(kind)] = typeOf[sessionChange]()
	}
	out["session.error"] = typeOf[session.SessionFailed]()
	for _, item := range []session.FragmentItem{
		session.FragmentText, session.FragmentReasoning,
		session.FragmentToolInput,
	} {
		out[string(session.Fragment{Item: item}.Kind())] = typeOf[session.FragmentData]()
	}
	return out
}

// Types that only the document needs.
type (
	emptyObject struct{}
	// sessionChange has the stored event if a request says all=1, otherwise a session.SessionChanged.
	sessionChange struct {
		SessionID session.ID     `json:"sessionID"`
		Timestamp int64          `json:"timestamp,omitzero"`
		Info      jsontext.Value `json:"info"`
	}
	statusNotice struct {
		SessionID session.ID `json:"sessionID"`
		Status    api.Status `json:"status"`
	}
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
