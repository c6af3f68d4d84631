package mcp

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/session"
)

// The SDK ends the connection at a message that it cannot decode, and refuses a whole list or result for one bad
// member. The functions of this file change messages before the SDK reads them, so that a mistake of a server costs no
// more than the part that has it.

const (
	// problemKey is the member of _meta with which a member of a list that cannot be decoded says why.
	problemKey = "cairn/problem"
	// orderKey is the member of a requested schema with the names of its properties in their order, which the SDK loses.
	orderKey = "x-cairn-order"
)

// asSent are the options with which messages of servers are read: as the SDK does.
func asSent() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// repairMessage returns a message as the SDK can read it. An answer that is no valid message becomes an error, for the
// call that it answers. It returns nil for what is to be left out: another invalid message, or JSON of something else.
func repairMessage(raw []byte) []byte {
	// Find out what the message is.
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return raw // a batch of the older protocols
	}
	if !jsontext.Value(raw).IsValid(asSent()) {
		return refuseMessage(raw, errors.New("it is not valid JSON"))
	}
	message, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return refuseMessage(raw, err)
	}
	// Replace what the SDK would refuse or lose.
	isChanged := false
	switch m := message.(type) {
	case *jsonrpc.Response:
		if result := repairResult(jsontext.Value(m.Result)); result != nil {
			m.Result, isChanged = []byte(result), true
		}
	case *jsonrpc.Request:
		if params := noteOrder(m.Method, jsontext.Value(m.Params)); params != nil {
			m.Params, isChanged = []byte(params), true
		}
	}
	// A message that stays as it is keeps its bytes.
	if !isChanged {
		return raw
	}
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return raw
	}
	return text
}

// refuseMessage returns an error for the call that an invalid message answers, nil if it answers no call.
func refuseMessage(raw []byte, why error) []byte {
	// Only an object can be an answer.
	d := jsontext.NewDecoder(bytes.NewReader(raw), asSent())
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	// Read the members up to the place that is invalid.
	var id jsontext.Value
	isAnswer := false
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		switch name.String() {
		case "method":
			return nil
		case "result", "error":
			isAnswer = true
		case "id":
			if value, err := d.ReadValue(); err == nil {
				id = value.Clone()
				continue
			}
		}
		if d.SkipValue() != nil {
			break
		}
	}
	// Answer the call if it is known which one it is.
	if !isAnswer || len(id) == 0 {
		return nil
	}
	return answerError(id, "the answer is invalid: "+describeError(why))
}

// answerError returns the answer to a call that failed.
func answerError(id jsontext.Value, text string) []byte {
	answer := struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   map[string]any `json:"error"`
	}{"2.0", id, map[string]any{"code": jsonrpc.CodeInternalError, "message": text}}
	out, _ := json.Marshal(answer, asSent()) // the id is valid
	return out
}

// resultLists are the lists of results whose members are read one by one.
type resultLists struct {
	Tools     jsontext.Value `json:"tools"`
	Prompts   jsontext.Value `json:"prompts"`
	Resources jsontext.Value `json:"resources"`
	Templates jsontext.Value `json:"resourceTemplates"`
	Content   jsontext.Value `json:"content"`
	Contents  jsontext.Value `json:"contents"`
	Messages  jsontext.Value `json:"messages"`
}

// repairResult returns a result whose lists have a note in place of each member that cannot be decoded; nil if all can
// be.
func repairResult(result jsontext.Value) jsontext.Value {
	var lists resultLists
	if result.Kind() != '{' || json.Unmarshal(result, &lists, asSent()) != nil {
		return nil
	}
	// Repair each list that the result has.
	changed := map[string]jsontext.Value{}
	for _, one := range []struct {
		name   string
		list   jsontext.Value
		check  func(member jsontext.Value) error
		stand  func(member map[string]any, why string) any
		isNull bool // null may stand in the list
	}{
		{"tools", lists.Tools, checkAs[sdk.Tool], standForOffer, true},
		{"prompts", lists.Prompts, checkAs[sdk.Prompt], standForOffer, true},
		{"resources", lists.Resources, checkAs[sdk.Resource], standForOffer, true},
		{"resourceTemplates", lists.Templates, checkAs[sdk.ResourceTemplate], standForOffer, true},
		{"content", lists.Content, checkContent, standForContent, false},
		{"contents", lists.Contents, checkAs[sdk.ResourceContents], standForResource, true},
		{"messages", lists.Messages, checkPromptMessage, standForPrompt, true},
	} {
		if list := repairList(one.list, one.isNull, one.check, one.stand); list != nil {
			changed[one.name] = list
		}
	}
	if len(changed) == 0 {
		return nil
	}
	// Put the repaired ones in place; other members stay as they are.
	var all map[string]jsontext.Value
	if json.Unmarshal(result, &all, asSent()) != nil {
		return nil
	}
	for name, list := range changed {
		all[name] = list
	}
	out, err := json.Marshal(all, json.Deterministic(true), asSent())
	if err != nil {
		return nil
	}
	return out
}

// repairList returns the list with stand-ins for members that check refuses; nil if all members are good.
func repairList(
	list jsontext.Value, isNull bool, check func(jsontext.Value) error, stand func(map[string]any, string) any,
) jsontext.Value {
	var members []jsontext.Value
	if list.Kind() != '[' || json.Unmarshal(list, &members, asSent()) != nil {
		return nil
	}
	// Replace the members that are refused.
	isChanged := false
	for i, m := range members {
		if isNull && m.Kind() == 'n' {
			continue
		}
		err := check(m)
		if err == nil {
			continue
		}
		var loose map[string]any
		_ = json.Unmarshal(m, &loose, asSent()) // another value has no name
		value, err := json.Marshal(stand(loose, describeError(err)), json.Deterministic(true), asSent())
		if err != nil {
			return nil
		}
		members[i], isChanged = value, true
	}
	// A good list keeps its bytes.
	if !isChanged {
		return nil
	}
	out, err := json.Marshal(members, asSent())
	if err != nil {
		return nil
	}
	return out
}

func checkAs[T any](member jsontext.Value) error { return json.Unmarshal(member, new(T), asSent()) }

func checkContent(member jsontext.Value) error {
	return new(sdk.CallToolResult).UnmarshalJSON(fmt.Appendf(nil, `{"content":[%s]}`, member))
}

func checkPromptMessage(member jsontext.Value) error {
	return new(sdk.PromptMessage).UnmarshalJSON(member)
}

// memberText returns a text of a member, "" if it has another type.
func memberText(member map[string]any, name string) string {
	text, _ := member[name].(string)
	return session.ClipText(text, maxName)
}

// standForOffer stands for a tool, a prompt, a resource or a template that cannot be offered.
func standForOffer(member map[string]any, why string) any {
	out := map[string]any{"name": memberText(member, "name"), "_meta": map[string]any{problemKey: why}}
	for _, name := range []string{"uri", "uriTemplate"} {
		if text := memberText(member, name); text != "" {
			out[name] = text
		}
	}
	return out
}

// findProblem returns why a member of a list cannot be offered, "" if it can be.
func findProblem(meta sdk.Meta) string {
	why, _ := meta[problemKey].(string)
	return why
}

func standForContent(member map[string]any, why string) any {
	const text = "(a part of the result of type %.80q is left out: %s)"
	return map[string]any{"type": "text", "text": fmt.Sprintf(text, memberText(member, "type"), why)}
}

func standForResource(member map[string]any, why string) any {
	return map[string]any{"uri": memberText(member, "uri"), "text": "(a part of the resource is left out: " + why + ")"}
}

func standForPrompt(_ map[string]any, why string) any {
	content := map[string]any{"type": "text", "text": "(a part of the prompt is left out: " + why + ")"}
	return map[string]any{"role": "user", "content": content}
}

// noteOrder returns the parameters of an elicitation with the order of its fields; nil without fields.
func noteOrder(method string, params jsontext.Value) jsontext.Value {
	// Find the properties of the requested schema.
	var all, schema map[string]jsontext.Value
	if method != "elicitation/create" || json.Unmarshal(params, &all, asSent()) != nil ||
		json.Unmarshal(all["requestedSchema"], &schema, asSent()) != nil {
		return nil
	}
	properties := schema["properties"]
	if properties.Kind() != '{' {
		return nil
	}
	// Read the names in their order.
	d := jsontext.NewDecoder(bytes.NewReader(properties), asSent())
	_, _ = d.ReadToken()
	var names []string
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		names = append(names, name.String())
		if d.SkipValue() != nil {
			return nil
		}
	}
	// Add them to the schema, and the schema to the parameters.
	order, err := json.Marshal(names, asSent())
	if err != nil {
		return nil
	}
	schema[orderKey] = order
	if all["requestedSchema"], err = json.Marshal(schema, json.Deterministic(true), asSent()); err != nil {
		return nil
	}
	out, err := json.Marshal(all, json.Deterministic(true), asSent())
	if err != nil {
		return nil
	}
	return out
}
