package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// showDefinitions shows the tools that the turn offers to the extensions, and keeps what they change. The tools check
// their input as before.
func (input *turnInput) showDefinitions(ctx context.Context) {
	if !input.extensions.HasDefinition() || input.lastStep {
		return
	}
	for _, d := range input.tools().Definitions() {
		v := extension.Definition{Tool: d.Name, Description: d.Description, Schema: d.Schema}
		by, err := input.extensions.Definition(ctx, &v)
		if err != nil || len(by) == 0 || v.Schema.Kind() != '{' {
			continue
		}
		if input.altered == nil {
			input.altered = map[string]llm.ToolDefinition{}
		}
		input.altered[d.Name] = llm.ToolDefinition{Name: d.Name, Description: v.Description, Schema: v.Schema}
		input.alteredBy = session.JoinNames(input.alteredBy, by)
	}
}

// showOptions shows the options of the request to the extensions and applies what they change. It returns what the turn
// records of their changes, also of the tools; nil without any.
func (input *turnInput) showOptions(ctx context.Context) *session.Alteration {
	names := input.alteredBy
	if input.extensions.HasOptions() {
		req := *input.request.Built
		v := extension.Options{
			SessionID: input.session.ID, Agent: input.agent.ID, Model: input.model.Ref, MessageID: input.prompt,
			Temperature: req.Generate.Temperature, TopP: req.Generate.TopP, TopK: req.Generate.TopK,
			Options: maps.Clone(req.Options),
		}
		if n := req.Generate.MaxTokens; n > 0 {
			v.MaxTokens = &n
		}
		by, err := input.extensions.Options(ctx, &v)
		if err == nil && len(by) > 0 {
			req.Generate.Temperature, req.Generate.TopP, req.Generate.TopK = v.Temperature, v.TopP, v.TopK
			req.Generate.MaxTokens = *cmp.Or(v.MaxTokens, new(int))
			req.Options = v.Options
			req.Headers = maps.Clone(req.Headers)
			if req.Headers == nil {
				req.Headers = map[string]string{}
			}
			maps.Copy(req.Headers, v.Headers)
			input.request.Built, names = &req, session.JoinNames(names, by)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &session.Alteration{By: names, Digest: digestOptions(input.request.Built)}
}

// digestOptions returns the hexadecimal SHA-256 of the options and tools of the request, without its headers, which may
// have keys.
func digestOptions(req *llm.Request) string {
	raw, err := json.Marshal(struct {
		Generate llm.Generation
		Options  map[string]jsontext.Value
		Tools    []llm.ToolDefinition
	}{req.Generate, req.Options, req.Tools}, json.Deterministic(true))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
