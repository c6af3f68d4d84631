package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ToolInfo describes a tool of a server for people.
type ToolInfo struct {
	Name        string // of the tool for models
	Remote      string // what the server calls it
	Description string
	ReadOnly    bool // the server says so, which proves nothing
	Destructive bool // as above
}

// remoteTool is a tool as its server describes it. It never changes.
type remoteTool struct {
	name        string // for models
	remote      string // for the server
	description string
	schema      jsontext.Value
	hints       sdk.ToolAnnotations
	guidance    string // the server's instructions
	fingerprint string // of what a model reads because of the tool: its definition and the guidance
}

// newRemoteTool returns a tool that models can be offered, or why it cannot be.
func newRemoteTool(server, guidance string, t *sdk.Tool) (*remoteTool, error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	schema, err := json.Marshal(t.InputSchema, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its schema: %w", err)
	case jsontext.Value(schema).Kind() != '{':
		return nil, errors.New("its schema is not an object")
	case len(schema) > maxSchema:
		return nil, fmt.Errorf("its schema has %d bytes, the limit is %d", len(schema), maxSchema)
	}
	out := &remoteTool{
		name: toolName(server, t.Name), remote: t.Name, schema: schema, guidance: guidance,
		description: cutText(cmp.Or(t.Description, t.Title, t.Name), maxDescription),
	}
	if t.Annotations != nil {
		out.hints = *t.Annotations
	}
	sum := sha256.Sum256([]byte(out.name + "\x00" + out.description + "\x00" + guidance + "\x00" + string(schema)))
	out.fingerprint = hex.EncodeToString(sum[:]) // whole: saved approvals are for this text alone
	return out, nil
}

func (t *remoteTool) definition() Definition {
	return Definition{t.fingerprint, t.guidance, t.description, t.schema}
}

func (t *remoteTool) info() ToolInfo {
	return ToolInfo{
		Name: t.name, Remote: cutText(t.remote, maxName), Description: t.description, ReadOnly: t.hints.ReadOnlyHint,
		Destructive: t.hints.DestructiveHint != nil && *t.hints.DestructiveHint,
	}
}

// serverTool is a tool of a server in the registry of a location.
type serverTool struct {
	server *server
	*remoteTool
}

// Definition describes the tool. Its text is the one with which a call was allowed last, if there is one.
func (t serverTool) Definition() tool.Definition {
	d := tool.Definition{Name: t.name, Description: t.description, Schema: t.schema, Action: t.name}
	if before, ok := t.approved(); ok && before.Fingerprint != t.fingerprint {
		d.Description, d.Schema = before.Description, before.Schema
	}
	return d
}

// isShownAs reports whether models read this definition of the tool.
func (t serverTool) isShownAs(d tool.Definition) bool {
	now := t.Definition()
	return now.Description == d.Description && bytes.Equal(now.Schema, d.Schema)
}

// approved returns the definition with which a call of the tool was allowed last.
func (t serverTool) approved() (Definition, bool) {
	return t.server.set.pool.options.Approvals.find(t.server.set.directory, t.name)
}

// maxDiff bounds the difference that a permission request shows, in bytes.
const maxDiff = 64 << 10

// describeCall returns what a permission request shows of the call. If the server has changed the tool since a call of
// it was allowed, that has the difference.
func (t serverTool) describeCall(call tool.Call) jsontext.Value {
	meta := map[string]any{"server": t.server.name, "tool": t.remote, "input": call.Input}
	if t.hints.ReadOnlyHint {
		meta["readOnlyHint"] = true
	}
	if t.hints.DestructiveHint != nil {
		meta["destructiveHint"] = *t.hints.DestructiveHint
	}
	if before, ok := t.approved(); ok && before.Fingerprint != t.fingerprint {
		meta["diff"] = session.ClipText(before.compare(t.definition()), maxDiff)
	}
	return tool.EncodeObject(meta)
}
