package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
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

// showMessages shows copies of the messages of the request to the extensions, and keeps what they make of them for this
// request. Copies, because the history is shared by all turns of the session.
func (input *turnInput) showMessages(ctx context.Context) {
	if !input.extensions.HasMessages() {
		return
	}
	v := extension.Messages{SessionID: input.session.ID}
	for _, m := range input.history.VisibleMessages(input.epoch.BaselineSeq) {
		raw, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return
		}
		dup, err := session.DecodeMessage(raw)
		if err != nil {
			return
		}
		dup.Meta().Seq = m.Meta().Seq
		v.Messages = append(v.Messages, dup)
	}
	by, err := input.extensions.Messages(ctx, &v)
	if err == nil && len(by) > 0 {
		input.shown, input.alteredBy = v.Messages, session.JoinNames(input.alteredBy, by)
	}
}

// extensionSources returns what the extensions add to the system context, a source each. A text that cannot be known now
// stays as the model has it; isFirst says that the model has none yet, and the session begins without it.
func (input *turnInput) extensionSources(ctx context.Context, isFirst bool) (c systemcontext.Context) {
	v := extension.System{SessionID: input.session.ID, Agent: input.agent.ID}
	if m, err := input.scope.ResolveModel(input.session.Model, input.agent); err == nil { // else the turn says why
		v.Model = m.Ref
	}
	for _, t := range input.extensions.System(ctx, v) {
		if t.Text == "" && (t.Err == nil || isFirst) {
			continue
		}
		about := "The extension " + t.Extension
		c = append(c, systemcontext.Make(systemcontext.Spec[string]{
			Key: sourceKey(t.Extension), Value: t.Text, Err: t.Err,
			Baseline: func(text string) string { return text },
			Update:   func(_, text string) string { return about + " now says:\n" + text },
			Removal:  func(string) string { return "What " + about[4:] + " said no longer applies." },
		}))
	}
	return c
}

// sourceKey returns the key of the source of the extension: the id with "-" for what no key has.
func sourceKey(id string) string {
	key := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '_', c == '/':
			return c
		default:
			return '-'
		}
	}, strings.ToLower(id))
	return "extension/" + strings.TrimLeft(key, "-._/")
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

// reviewText shows a text of the answer to the extensions. It returns what they put in its place, with the record of that.
func (input *turnInput) reviewText(
	ctx context.Context, m session.MessageID, p session.PartID, text string,
) (string, *session.Replacement) {
	v := extension.Text{SessionID: input.session.ID, MessageID: m, PartID: p, Text: text}
	by, err := input.extensions.Text(ctx, &v)
	if err != nil || len(by) == 0 {
		return text, nil // nothing is guarded here
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(v.Text, "\uFFFD"), &session.Replacement{
		By: by, Digest: hex.EncodeToString(sum[:]), Bytes: len(text),
	}
}
