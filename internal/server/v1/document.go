package v1

import (
	"maps"
	"reflect"

	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:generate go test . -run TestDocumentIsCurrent -update

// NewDocument returns the OpenAPI document of the contract. It lists the operations of OpenCode's document.
func NewDocument() ([]byte, error) {
	text := reflect.TypeFor[string]()
	errors := map[string]reflect.Type{"401": nil}
	for _, status := range []string{"400", "403", "404", "409", "413", "415", "429", "500", "503"} {
		errors[status] = typeOf[errorEnvelope]()
	}
	return operation.NewDocument(ListOperations(), operation.Description{
		Info: openapi.Info{
			Title: "cairn, the V1 contract", Version: "1",
			Description: "OpenCode's first contract, as a view of the sessions of the second. Paths are absolute.",
		},
		Errors: errors, Types: documentTypes(),
		Query: []openapi.Parameter{{Name: "directory", Type: text}, {Name: "workspace", Type: text}},
	})
}

// errorEnvelope is one of the envelopes of errors.
type errorEnvelope any

// documentTypes describes what the Go types do not say: the values of names, what interfaces may hold, and the names of
// components that differ from those of their types.
func documentTypes() openapi.Types {
	// Values and forms first, then names, then the alternatives of parts, messages, tool states, events and errors.
	types := openapi.Types{
		Enums: map[reflect.Type][]string{
			typeOf[session.Effect]():       {"allow", "deny", "ask"},
			typeOf[session.AgentMode]():    {"subagent", "primary", "all"},
			typeOf[session.Reply]():        {"once", "always", "reject"},
			typeOf[session.TodoStatus]():   {"pending", "in_progress", "completed", "cancelled"},
			typeOf[session.TodoPriority](): {"high", "medium", "low"},
			typeOf[pty.Status]():           {"running", "exited"},
		},
		Forms: map[reflect.Type]string{
			typeOf[session.USD](): `{"type":"number"}`,
			typeOf[never]():       `{"not":{}}`,

			typeOf[opencode.ToolSwitches](): `{"type":"object","additionalProperties":{"type":"boolean"}}`,
		},
		Members: map[string]string{ // a date, where OpenCode's document has a number
			"timestamp": `{"anyOf":[{"type":"string"},{"type":"number"}]}`,
		},
		Further: operation.ListConstantComponents(unimplementedFile),
		Names: map[reflect.Type]string{
			typeOf[eventEnvelope]():   "Placed",
			typeOf[syncMessage]():     "Synced",
			typeOf[errorEnvelope]():   "Refusal",
			typeOf[namedError]():      "Named",
			typeOf[taggedError]():     "Tagged",
			typeOf[bareError]():       "Bare",
			typeOf[patchError]():      "VcsError",
			typeOf[loginError]():      "McpLoginError",
			typeOf[configError]():     "Misconfigured",
			typeOf[configIssue]():     "Issue",
			typeOf[instance]():        "DisposedPlace",
			typeOf[emptyObject]():     "NothingSaid",
			typeOf[patchResult]():     "Applied",
			typeOf[upgradeResult]():   "Upgraded",
			typeOf[usableProviders](): "Usable",

			typeOf[session.Question](): "SessionQuestion",
		},
		Unions: map[reflect.Type]openapi.Union{
			typeOf[opencode.Part](): {By: "type", Of: map[string]reflect.Type{
				"text": typeOf[opencode.TextPart](), "subtask": typeOf[opencode.SubtaskPart](),
				"reasoning": typeOf[opencode.ReasoningPart](), "file": typeOf[opencode.FilePart](),
				"tool": typeOf[opencode.ToolPart](), "step-start": typeOf[opencode.StepStartPart](),
				"step-finish": typeOf[opencode.StepFinishPart](), "snapshot": typeOf[opencode.SnapshotPart](),
				"patch": typeOf[opencode.PatchPart](), "agent": typeOf[opencode.AgentPart](),
				"retry": typeOf[opencode.RetryPart](), "compaction": typeOf[opencode.CompactionPart](),
			}},
			typeOf[opencode.Info](): {By: "role", Of: map[string]reflect.Type{
				"user": typeOf[opencode.User](), "assistant": typeOf[opencode.Assistant](),
			}},
			typeOf[opencode.ToolState](): {By: "status", Of: map[string]reflect.Type{
				"pending": typeOf[opencode.ToolPending](), "running": typeOf[opencode.ToolRunning](),
				"completed": typeOf[opencode.ToolCompleted](), "error": typeOf[opencode.ToolError](),
			}},
			typeOf[busEvent](): {By: "type", In: "properties", Of: eventTypes()},
			typeOf[payload]():  {Also: []reflect.Type{typeOf[busEvent](), typeOf[syncMessage]()}},
			typeOf[errorEnvelope](): {Also: []reflect.Type{
				typeOf[namedError](), typeOf[taggedError](), typeOf[bareError](), typeOf[patchError](), typeOf[configError](),
				typeOf[loginError](),
			}},
		},
	}
	maps.Copy(types.Unions, requestUnions())
	return types
}
