package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/sdk"
)

// Tool is a tool that the program provides to the model. NewTool makes one from a function.
type Tool struct {
	Name        string // a letter, then letters, digits, '_' and '-', at most 64
	Description string // for the model
	// Schema is the JSON schema of the arguments, an object. Arguments that are not valid by it do not reach Run. Nil is
	// a tool without arguments.
	Schema json.RawMessage
	// Ask asks for a permission before each call, unless a rule or a saved approval allows it; the action is the name of
	// the tool. Without it calls run as the model makes them, unless a rule denies the tool.
	Ask bool
	// Run executes a call. When ctx ends it stops what it does and returns; two seconds later it is left alone. An error,
	// a panic included, is for the model: it reads the text and goes on. Run is called concurrently, also for the calls of
	// one turn. A call that was cut off by the end of the process is not run again.
	Run func(ctx context.Context, c ToolCall) (ToolResult, error)
}

// ToolCall is a call of a Tool.
type ToolCall struct {
	SessionID string
	MessageID string // of the turn that makes the call
	CallID    string
	Agent     string
	Input     json.RawMessage // an object, valid by the schema
	// Progress shows people the output so far. It never blocks.
	Progress func(text string)
}

// ToolResult is the result of a call. A text of more than 50 KiB or 2,000 lines is shortened for the model, and stored
// as a whole in a file that it can read.
type ToolResult struct {
	Text  string     // for the model
	Title string     // for people, one line; may be ""
	Files []sdk.File // for the model, with their Data
}

// NewTool returns a tool that calls a function with the arguments decoded into In, a struct. Its schema is that of In,
// whose fields are named by their json tags and described by their jsonschema tags; a field without omitempty or
// omitzero is required, a json.RawMessage takes any value, and []byte a string in base64. The error is one of In: it is
// no struct, or a schema cannot describe it (functions, channels, types that contain themselves); or run is nil.
func NewTool[In any](
	name, description string, run func(ctx context.Context, in In) (string, error),
) (Tool, error) {
	if t := reflect.TypeFor[In](); t.Kind() != reflect.Struct {
		return Tool{}, newInvalid("In", "the tool %s needs a struct for its arguments, not %s", name, t)
	}
	if run == nil {
		return Tool{}, newInvalid("run", "the tool %s has no function", name)
	}
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return Tool{}, &sdk.Error{
			Code: sdk.CodeInvalid, Field: "In", Err: err,
			Message: fmt.Sprintf("describe the arguments of the tool %s: %v", name, err),
		}
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return Tool{}, fmt.Errorf("describe the arguments of the tool %s: %w", name, err)
	}
	return Tool{
		Name: name, Description: description, Schema: raw,
		Run: func(ctx context.Context, c ToolCall) (ToolResult, error) {
			var in In
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return ToolResult{}, fmt.Errorf("the arguments cannot be read: %w", err)
			}
			text, err := run(ctx, in)
			return ToolResult{Text: text}, err
		},
	}, nil
}

// newTools returns the tools, and the actions of those that ask.
func newTools(tools []Tool, logger *slog.Logger) (out []tool.Tool, asking []string, err error) {
	seen := map[string]bool{}
	for i, t := range tools {
		field := "Tools[" + strconv.Itoa(i) + "]"
		if t.Schema == nil {
			t.Schema = []byte(`{"type":"object","properties":{}}`)
		}
		var object map[string]any
		switch {
		case !tool.IsName(t.Name):
			return nil, nil, newInvalid(
				field, "the name %q of a tool is not a letter with at most 63 letters, digits, '_' and '-'", t.Name,
			)
		case seen[t.Name]:
			return nil, nil, newInvalid(field, "there are two tools with the name %q", t.Name)
		case t.Run == nil:
			return nil, nil, newInvalid(field, "the tool %q has no function Run", t.Name)
		case json.Unmarshal(t.Schema, &object) != nil || object["type"] != "object":
			return nil, nil, newInvalid(field, "the schema of the tool %q is not one of an object", t.Name)
		}
		seen[t.Name] = true
		if t.Ask {
			asking = append(asking, t.Name)
		}
		out = append(out, programTool{t, logger})
	}
	return out, asking, nil
}

// programTool is a Tool as the engine uses one.
type programTool struct {
	tool   Tool
	logger *slog.Logger
}

// Definition implements tool.Tool.
func (p programTool) Definition() tool.Definition {
	return tool.Definition{Name: p.tool.Name, Description: p.tool.Description, Schema: []byte(p.tool.Schema)}
}

// Run implements tool.Tool.
func (p programTool) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	if p.tool.Ask {
		err := c.Ask(ctx, tool.Request{
			Action: p.tool.Name, Resources: []string{"*"}, Save: []string{"*"},
			Metadata: tool.EncodeObject(map[string]any{"input": c.Input}),
		})
		if err != nil {
			return tool.Output{}, err
		}
	}
	result, err := call(ctx, p.logger, "tool "+p.tool.Name, func() (ToolResult, error) {
		return p.tool.Run(ctx, ToolCall{
			SessionID: string(c.SessionID), MessageID: string(c.MessageID), CallID: c.CallID, Agent: c.Agent,
			Input:    json.RawMessage(c.Input),
			Progress: func(text string) { c.Progress(tool.Output{Content: session.TextContent(text)}) },
		})
	})
	out := tool.Output{Title: session.ClipText(result.Title, maxTitle), Content: session.TextContent(result.Text)}
	for _, f := range result.Files {
		out.Content = append(out.Content, newContent(f))
	}
	if err != nil && ctx.Err() == nil {
		err = tool.Failf("%s", err.Error())
	}
	return out, err
}

// newContent returns a file of a result as the model gets it.
func newContent(f sdk.File) session.ToolContent {
	out := session.ToolContent{Type: "file", URI: f.URI, Mime: f.MediaType, Name: f.Name}
	if f.Data != nil {
		out.URI = session.EncodeDataURI(f.MediaType, f.Data)
	}
	return out
}

// maxTitle bounds the title of a call, in bytes.
const maxTitle = 200
