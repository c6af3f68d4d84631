package v1

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:generate go test . -run TestDocumentIsCurrent -update

func documentRoutes() []Route { return []Route{{get, "/doc", "", (*API).document}} }

func (a *API) document(w http.ResponseWriter, _ *http.Request) error {
	doc, err := Document()
	if err != nil {
		return err
	}
	return httpio.WriteJSON(w, http.StatusOK, doc)
}

// Document returns the OpenAPI document of the contract: the routes that OpenCode's has, as our types make them.
func Document() ([]byte, error) {
	said := described()
	var out []openapi.Operation
	for _, r := range Routes() {
		if r.ID == "" {
			continue
		}
		o := said[r.ID]
		o.ID, o.Method, o.Path = r.ID, r.Method, r.Path
		o.Query = append(o.Query, text("directory"), text("workspace"))
		o.Fails = failures()
		out = append(out, o)
	}
	return openapi.Document("cairn, the V1 contract", "1", out, types())
}

// failures are the statuses that refusals have.
func failures() map[string]reflect.Type {
	out := map[string]reflect.Type{"401": nil}
	for _, status := range []string{"400", "403", "404", "409", "413", "429", "500", "503"} {
		out[status] = is[refusal]()
	}
	return out
}

// refusal is what an operation answers when it does not do what it should: named, tagged or bare.
type refusal any

// types says what the types of the contract do not: the values of names, and what stands behind interfaces.
func types() openapi.Types {
	return openapi.Types{
		Enums: map[reflect.Type][]string{
			is[session.Effect]():       {"allow", "deny", "ask"},
			is[session.AgentMode]():    {"subagent", "primary", "all"},
			is[session.Reply]():        {"once", "always", "reject"},
			is[session.TodoStatus]():   {"pending", "in_progress", "completed", "cancelled"},
			is[session.TodoPriority](): {"high", "medium", "low"},
			is[pty.Status]():           {"running", "exited"},
		},
		Forms: map[reflect.Type]string{
			is[session.USD](): `{"type":"number"}`,
			is[aNumber]():     `{"type":"number"}`,
			is[noneYet]():     `{"type":"array","maxItems":0}`,
			is[emptyYet]():    `{"type":"object","maxProperties":0}`,
			is[never]():       `{"not":{}}`,
		},
		Members: map[string]string{ // a date, where OpenCode's document has a number
			"timestamp": `{"anyOf":[{"type":"string"},{"type":"number"}]}`,
		},
		Unions: map[reflect.Type]openapi.Union{
			is[opencode.Part](): {By: "type", Of: map[string]reflect.Type{
				"text": is[opencode.TextPart](), "subtask": is[opencode.SubtaskPart](), "reasoning": is[opencode.ReasoningPart](),
				"file": is[opencode.FilePart](), "tool": is[opencode.ToolPart](), "step-start": is[opencode.StepStartPart](),
				"step-finish": is[opencode.StepFinishPart](), "snapshot": is[opencode.SnapshotPart](), "patch": is[opencode.PatchPart](),
				"agent": is[opencode.AgentPart](), "retry": is[opencode.RetryPart](), "compaction": is[opencode.CompactionPart](),
			}},
			is[opencode.Info](): {By: "role", Of: map[string]reflect.Type{"user": is[opencode.User](), "assistant": is[opencode.Assistant]()}},
			is[opencode.ToolState](): {By: "status", Of: map[string]reflect.Type{
				"pending": is[opencode.ToolPending](), "running": is[opencode.ToolRunning](),
				"completed": is[opencode.ToolCompleted](), "error": is[opencode.ToolError](),
			}},
			is[busEvent](): {By: "type", In: "properties", Of: busEvents()},
			is[payload]():  {Also: []reflect.Type{is[busEvent](), is[synced]()}},
			is[refusal]():  {Also: []reflect.Type{is[named](), is[tagged](), is[bare](), is[vcsError](), is[misconfigured]()}},
		},
	}
}

// projectChange is what OpenCode's clients want of a project to be otherwise.
type projectChange struct {
	Name     string                    `json:"name"`
	Icon     map[string]string         `json:"icon"`
	Commands map[string]jsontext.Value `json:"commands"`
}

// Types that only say what something is in the document.
type (
	aNumber     struct{}   // a parameter
	noneYet     []struct{} // a list of what there is not yet
	emptyYet    struct{}   // a map of it
	nothingSaid struct{}
	never       struct{} // the answer of an operation that always refuses
)

func is[T any]() reflect.Type { return reflect.TypeFor[T]() }

// query makes parameters of their names: needed! must be there, limit# is a number, and mode=a|b is one of the words.
func query(names ...string) (out []openapi.Parameter) {
	for _, name := range names {
		p := text(name)
		if base, ok := strings.CutSuffix(p.Name, "#"); ok {
			p.Name, p.Type = base, is[aNumber]()
		}
		name, words, listed := strings.Cut(p.Name, "=")
		if listed {
			p.Enum = strings.Split(words, "|")
		}
		p.Name, p.Required = strings.CutSuffix(name, "!")
		out = append(out, p)
	}
	return out
}

func text(name string) openapi.Parameter { return openapi.Parameter{Name: name, Type: is[string]()} }

// changed is an operation that answers true, or that it could not.
func changed[Body any]() openapi.Operation {
	return openapi.Operation{Body: is[Body](), Answer: is[bool]()}
}

func asked[Answer any](names ...string) openapi.Operation {
	return openapi.Operation{Query: query(names...), Answer: is[Answer]()}
}

func exchanged[Body, Answer any]() openapi.Operation {
	return openapi.Operation{Body: is[Body](), Answer: is[Answer]()}
}

type anything = jsontext.Value
