package operation

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/session"
)

// Description holds the parts of a contract's document other than its operations.
type Description struct {
	openapi.Info

	Query  []openapi.Parameter     // of every operation
	Errors map[string]reflect.Type // the bodies of failures, by status; nil has no body
	Types  openapi.Types
}

// NewDocument returns the OpenAPI document of the operations.
func NewDocument(operations []Operation, d Description) ([]byte, error) {
	var out []openapi.Operation
	for _, o := range operations {
		if o.ID != "" {
			out = append(out, o.describe(d))
		}
	}
	d.Tags = describeTags()
	return openapi.EncodeDocument(d.Info, out, d.Types)
}

// WithStatuses returns the operation with further statuses of failures: those that its request type does not imply.
func (o Operation) WithStatuses(statuses ...int) Operation {
	o.statuses = slices.Concat(o.statuses, statuses)
	return o
}

// describe returns what the OpenAPI document says of the operation.
func (o Operation) describe(d Description) openapi.Operation {
	out := openapi.Operation{
		ID: o.ID, Method: o.Method, Path: o.Path, Summary: o.summary, Description: o.describeUse(), Tag: o.findTag(),
		Query: slices.Concat(o.request.parameters, d.Query), Body: o.request.body, BodyRequired: o.RequiresBody(),
		BodySchema: o.request.bodySchema, AnswerSchema: o.responseSchema,
		Answer: o.response, Media: o.media, Fails: map[string]reflect.Type{},
	}
	for _, status := range o.listStatuses(len(out.Query) > 0) {
		out.Fails[strconv.Itoa(status)] = d.Errors[strconv.Itoa(status)]
	}
	return out
}

// describeUse says what the types do not: the scope that callers need, and how the operation differs from others.
func (o Operation) describeUse() string {
	text := "Requires the scope " + o.Role.String() + "."
	if o.IsStream() {
		text += " The response sends events until the client disconnects."
	}
	if o.Unimplemented {
		text += " Not implemented yet: the response is that of a server without the feature, or a refusal."
	}
	return text
}

// findTag returns the first word of the path that names what the operation is about.
func (o Operation) findTag() string {
	words := strings.Split(strings.TrimPrefix(o.Path, "/"), "/")
	if len(words) > 1 && (words[0] == "api" || words[0] == "experimental") {
		words = words[1:]
	}
	return words[0]
}

// listStatuses lists the statuses of the operation's failures. Every request can be refused because of its caller, and
// can meet a closed or damaged store; the others follow from the request type, and from the table.
func (o Operation) listStatuses(query bool) []int {
	out := slices.Concat(o.statuses, []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable,
	})
	rt := o.request
	if query || len(rt.path)+len(rt.query)+len(rt.locations) > 0 || rt.bodyIndex != nil {
		out = append(out, http.StatusBadRequest)
	}
	if len(rt.path)+len(rt.locations) > 0 || rt.body != nil && hasSessionID(rt.body) {
		out = append(out, http.StatusNotFound)
	}
	if rt.bodyIndex != nil {
		out = append(out, http.StatusRequestEntityTooLarge)
	}
	if o.Method != http.MethodGet {
		out = append(out, http.StatusUnsupportedMediaType)
	}
	return out
}

// hasSessionID reports whether a body names a session.
func hasSessionID(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Type == reflect.TypeFor[session.ID]()
	})
}

// describeTags says what the operations of each tag are about.
func describeTags() map[string]string {
	return map[string]string{
		"agent": "Agents.", "auth": "Credentials of providers.", "capabilities": "Experimental features.",
		"command": "Commands, which are prompts with a name.", "config": "Configuration of a location.",
		"console": "OpenCode's console.", "control-plane": "Sessions between directories.", "doc": "This document.",
		"context":      "What models read.",
		"experimental": "Operations that OpenCode may still change.",
		"doctor":       "The installation.", "event": "Streams of events.", "file": "Files of a location.",
		"find": "Searches in a location.", "formatter": "Formatters.", "fs": "Files of a location.",
		"global": "The server and all its locations.", "health": "The state of the server.",
		"instance": "The state of a location.", "integration": "Integrations.", "location": "Locations.",
		"log": "The server log.", "lsp": "Language servers.", "mcp": "MCP servers.", "model": "Models.",
		"path": "Directories of the server.", "permission": "Permission requests.", "project": "Projects.",
		"provider": "Providers and their models.", "pty": "Terminals.", "question": "Questions of the model.",
		"plugin":    "Plugins and files of tools.",
		"reference": "References to other projects.", "resource": "Resources of MCP servers.",
		"search": "Texts of sessions.", "storage": "What the sessions take.", "share": "Shared sessions.", "editor": "Files that editors have not saved.",
		"session": "Sessions, their messages and their work.", "skill": "Skills.", "stats": "Spending.",
		"sync": "Events of other servers.", "tool": "Tools.", "tui": "The terminal interface.",
		"vcs": "The working tree.", "workspace": "Workspaces.", "worktree": "Worktrees.",
	}
}
