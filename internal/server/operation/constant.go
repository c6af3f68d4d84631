package operation

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/openapi"
)

// constants is a data file of operations whose capability is not built. Their answers do not depend on the request.
type constants struct {
	Operations []constant                `json:"operations"`
	Components map[string]jsontext.Value `json:"components"` // the JSON Schemas to which those of operations refer
}

// constant is an operation with one answer to all requests: a refusal with 501, or a status and a response.
type constant struct {
	Route    string         `json:"route"` // as for New
	ID       string         `json:"id"`
	Refusal  string         `json:"refusal"`
	Status   int            `json:"status"`
	Response jsontext.Value `json:"response"` // absent: without a body

	// What the document says: the parameters of the query, the JSON Schemas of the request's body and of a success, which
	// is 204 without one, and the statuses of failures that these do not imply.
	Query    []string       `json:"query"`
	Body     jsontext.Value `json:"body"`
	Required bool           `json:"required"` // of the body
	Schema   jsontext.Value `json:"schema"`
	Fails    []int          `json:"fails"`
}

// NewConstants returns the operations of a data file, which is part of the program. It panics if the file is invalid.
func NewConstants(file []byte) (list []Operation) {
	for _, c := range parseConstants(file).Operations {
		o := newOperation[struct{}, None](c.Route, c.ID)
		o.Unimplemented, o.responseSchema, o.statuses = true, c.Schema, c.Fails
		if c.Status >= http.StatusBadRequest {
			o.statuses = append(o.statuses, c.Status)
		}
		for _, name := range c.Query {
			o.request.parameters = append(o.request.parameters, openapi.Parameter{Name: name, Type: typeOfText})
		}
		if c.Body != nil {
			o.request.bodySchema, o.request.bodyIndex, o.request.bodyOptional = c.Body, []int{}, !c.Required
		}
		o.serve = c.serve
		list = append(list, o)
	}
	return list
}

// ListConstantComponents returns the JSON Schemas to which the operations of a data file refer, by name.
func ListConstantComponents(file []byte) map[string]jsontext.Value {
	return parseConstants(file).Components
}

func parseConstants(file []byte) (c constants) {
	if err := json.Unmarshal(file, &c, json.RejectUnknownMembers(true)); err != nil {
		panic(fmt.Sprintf("the data file of constant operations: %v", err))
	}
	return c
}

func (c constant) serve(r *requestCall) error {
	switch {
	case c.Refusal != "":
		return httpio.NewUnimplemented(c.Refusal)
	case c.Response == nil:
		r.w.WriteHeader(c.Status)
		return nil
	default:
		return httpio.WriteJSON(r.w, c.Status, c.Response)
	}
}
