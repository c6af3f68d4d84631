package host

import (
	"bytes"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// pluginForms converts values of a location to OpenCode's forms, which its plugins get. It implements plugin.Forms.
type pluginForms struct {
	models    *models.Set
	ids       *session.IDs
	directory string
	known     sync.Map // [2]jsontext.Value of a model, by session.ModelRef
}

// Prompt implements plugin.Forms.
func (f *pluginForms) Prompt(v *extension.Prompt) (jsontext.Value, []jsontext.Value, error) {
	m := f.promptMessage(v)
	message, err := json.Marshal(m.Info)
	if err != nil {
		return nil, nil, err
	}
	parts := []jsontext.Value{}
	for _, p := range m.Parts {
		raw, err := json.Marshal(p)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, raw)
	}
	return message, parts, nil
}

// promptMessage returns the message that the prompt will be. Parts of callers that gave no parts have new ids.
func (f *pluginForms) promptMessage(v *extension.Prompt) opencode.Message {
	s := &session.Session{ID: v.SessionID, Location: session.Location{Directory: f.directory}}
	return opencode.PendingMessage(s, &session.Input{ID: v.MessageID, SessionID: v.SessionID, Prompt: v.Prompt})
}

// ApplyPrompt implements plugin.Forms. What a prompt has beside its parts and its selection stays.
func (f *pluginForms) ApplyPrompt(v *extension.Prompt, message jsontext.Value, parts []jsontext.Value) error {
	// Read the parts, but for the texts that only V1 shows, such as that of a file.
	var shown [][]byte
	for _, p := range f.promptMessage(v).Parts {
		if raw, err := json.Marshal(p); err == nil && bytes.Contains(raw, []byte(`"synthetic":true`)) {
			shown = append(shown, raw)
		}
	}
	in := opencode.PromptInput{Parts: &[]opencode.PartInput{}}
	for _, raw := range parts {
		if slices.ContainsFunc(shown, func(s []byte) bool { return plugin.IsEqual(s, raw) }) {
			continue
		}
		var part opencode.PartInput
		if err := json.Unmarshal(raw, &part); err != nil {
			return session.Errorf(session.CodeInvalid, "a part of chat.message: %v", err)
		}
		*in.Parts = append(*in.Parts, part)
	}
	var selection struct {
		Agent  string          `json:"agent"`
		Model  *opencode.Model `json:"model"`
		System *string         `json:"system"`
	}
	if err := json.Unmarshal(message, &selection); err != nil {
		return session.Errorf(session.CodeInvalid, "the message of chat.message: %v", err)
	}
	p, err := in.Prompt(f.newPart)
	if err != nil {
		return err
	}
	// Take what the plugin has changed.
	v.Prompt.Text, v.Prompt.Files, v.Prompt.Agents, v.Prompt.Subtasks = p.Text, p.Files, p.Agents, p.Subtasks
	v.Prompt.Parts = p.Parts
	if selection.Agent != "" {
		v.Prompt.Agent = selection.Agent
	}
	if m := selection.Model; m != nil && m.ModelID != "" {
		v.Prompt.Model = &session.ModelRef{ID: m.ModelID, ProviderID: m.ProviderID, Variant: m.Variant}
	}
	if selection.System != nil {
		v.Prompt.System = *selection.System
	}
	return nil
}

// newPart returns the id of a part that a plugin added.
func (f *pluginForms) newPart() session.PartID { return session.PartID(f.ids.New(session.PrefixPart)) }

// Messages implements plugin.Forms.
func (f *pluginForms) Messages(id session.ID, messages []session.Message) ([]jsontext.Value, error) {
	s := &session.Session{ID: id, Location: session.Location{Directory: f.directory}}
	var out []jsontext.Value
	for _, m := range opencode.RenderExport(s, messages) {
		raw, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

// ParseMessages implements plugin.Forms.
func (f *pluginForms) ParseMessages(values []jsontext.Value) (out []session.Message, err error) {
	var x opencode.MessageImporter
	for _, v := range values {
		ms, err := x.Add(v)
		if err != nil {
			return nil, session.Errorf(session.CodeInvalid, "a message of experimental.chat.messages.transform: %v", err)
		}
		out = append(out, ms...)
	}
	return append(out, x.Flush()...), nil
}

// Model implements plugin.Forms.
func (f *pluginForms) Model(ref session.ModelRef) (model, provider jsontext.Value) {
	if known, ok := f.known.Load(ref); ok {
		both := known.([2]jsontext.Value)
		return both[0], both[1]
	}
	model, provider = jsontext.Value("null"), jsontext.Value("null")
	for _, p := range f.models.Catalog.Providers() {
		if p.ID != ref.ProviderID {
			continue
		}
		v := opencode.ProviderOf(p, "config", f.models.SupportedModels(p.ID))
		if m, ok := v.Models[ref.ID]; ok { // the others would be sent with each request
			model, v.Models = encodeForm(m), map[string]opencode.ModelInfo{ref.ID: m}
		}
		provider = encodeForm(v)
	}
	f.known.Store(ref, [2]jsontext.Value{model, provider})
	return model, provider
}

// encodeForm encodes a value of the catalog; null if it cannot be.
func encodeForm(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return raw
}

// Permission implements plugin.Forms.
func (f *pluginForms) Permission(v *extension.Permission) jsontext.Value {
	metadata := v.Metadata
	if metadata == nil {
		metadata = jsontext.Value("{}")
	}
	return encodeForm(map[string]any{
		"id": "per_" + rand.Text(), "type": v.Action, "pattern": v.Resources, "sessionID": v.SessionID,
		"messageID": v.MessageID, "callID": v.CallID, "title": v.Action, "metadata": metadata,
		"time": map[string]int64{"created": time.Now().UnixMilli()},
	})
}
