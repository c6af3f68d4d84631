package opencode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Take says in our words what is said of a session elsewhere. What has no word here is kept beside it (session.Import),
// for those who want it back: it has no effect, rules that allow among it.
func Take(info jsontext.Value) (*session.Session, error) {
	var in Session
	if err := json.Unmarshal(info, &in); err != nil {
		return nil, err
	}
	if err := need(info, "id", "slug", "projectID", "directory", "title", "version", "time"); err != nil {
		return nil, err
	}
	s := &session.Session{
		ID: in.ID, Slug: in.Slug, ParentID: "", Title: in.Title, Agent: in.Agent, Version: in.Version, Cost: in.Cost,
		Tokens: ourTokens(in.Tokens), Time: session.SessionTime(in.Time), Permission: OurRules(in.Permission), Metadata: in.Metadata,
		Location: session.Location{Directory: in.Directory},
	}
	s.Tokens.Total = 0
	s.Permission = slices.DeleteFunc(s.Permission, func(r session.Rule) bool { return r.Effect == session.Allow })
	if m := in.Model; m != nil {
		s.Model = &session.ModelRef{ID: m.ID, ProviderID: m.ProviderID, Variant: m.Variant}
	}
	if c := in.Summary; c != nil {
		s.Changes = &session.Changes{Additions: c.Additions, Deletions: c.Deletions, Files: c.Files}
	}
	beside := members(info)
	for _, at := range []string{"projectID", "workspaceID", "directory", "path"} { // it lives here now
		delete(beside, at)
	}
	s.Import = &session.Import{From: foreignName}
	if d := differenceOf(membersOf(SessionOf(s)), beside); d != nil {
		d.Unset = nil
		s.Import.Info = marshalled(d)
	}
	return s, nil
}

// Exported is a session as it is given away: as it is shown and, where it came from elsewhere, with what was said of it
// there that is not said anew since.
func Exported(s *session.Session) jsontext.Value {
	shown := membersOf(SessionOf(s))
	var d difference
	if s.Import == nil || json.Unmarshal(s.Import.Info, &d) != nil {
		return object(shown)
	}
	d.add(shown)
	if rules, ok := d.Set["permission"]; ok && withoutAllows(rules, shown["permission"]) {
		shown["permission"] = rules
	}
	if cost, ok := d.Set["cost"]; ok { // to more places than we count
		var usd session.USD
		if json.Unmarshal(cost, &usd) == nil && usd == s.Cost {
			shown["cost"] = cost
		}
	}
	return object(shown)
}

// withoutAllows reports whether the rules were imported as the others: those that allow have no effect here.
func withoutAllows(rules, here jsontext.Value) bool {
	var imported, own []Rule
	if json.Unmarshal(rules, &imported) != nil || here != nil && json.Unmarshal(here, &own) != nil {
		return false
	}
	imported = slices.DeleteFunc(imported, func(r Rule) bool { return r.Action == session.Allow })
	return slices.Equal(imported, own)
}

func ourTokens(t Tokens) session.Tokens {
	return session.Tokens{Total: t.Total, Input: t.Input, Output: t.Output, Reasoning: t.Reasoning, Cache: t.Cache}
}

// TakeMessage says a message of elsewhere in our words. A turn or a call that had not ended there has ended here.
func TakeMessage(raw jsontext.Value) (session.Message, error) {
	var in struct {
		Info  jsontext.Value   `json:"info"`
		Parts []jsontext.Value `json:"parts"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.Info.Kind() != '{' {
		return nil, session.Errorf(session.CodeInvalid, "info must be an object").At("info")
	}
	var tag struct {
		Role      string     `json:"role"`
		SessionID session.ID `json:"sessionID"`
	}
	if err := json.Unmarshal(in.Info, &tag); err != nil {
		return nil, within("/info", err)
	}
	var m session.Message
	var err error
	switch tag.Role {
	case "user":
		m, err = takeUser(in.Info, in.Parts)
	case "assistant":
		m, err = takeAssistant(in.Info, in.Parts)
	default:
		err = session.Errorf(session.CodeInvalid, "the role must be user or assistant, got %.40q", tag.Role).At("info.role")
	}
	if err != nil {
		return nil, err
	}
	if err := complete(tag.Role, in.Info, in.Parts); err != nil {
		return nil, err
	}
	if err := session.CheckID("info.id", session.PrefixMessage, string(m.Meta().ID)); err != nil {
		return nil, err
	}
	shown := Render(&session.Session{ID: tag.SessionID}, []session.Message{m}, true)[0]
	if f := foreignTo(shown, asShown(shown, in.Info), in.Parts); f != nil {
		m.Meta().Extra = object(map[string]jsontext.Value{foreignName: marshalled(f)})
	}
	return m, nil
}

// need refuses an object that lacks a member.
func need(v jsontext.Value, names ...string) error {
	m := members(v)
	for _, name := range names {
		if m[name] == nil {
			return session.Errorf(session.CodeInvalid, "%s is missing", name).At(name)
		}
	}
	return nil
}

// complete refuses a message that lacks what OpenCode's always have.
func complete(role string, info jsontext.Value, parts []jsontext.Value) error {
	names := []string{"id", "sessionID", "time", "agent", "model"}
	if role == "assistant" {
		names = []string{"id", "sessionID", "time", "parentID", "modelID", "providerID", "mode", "path", "cost", "tokens"}
	}
	if err := need(info, names...); err != nil {
		return within("/info", err)
	}
	for i, p := range parts {
		if err := need(p, "id", "type"); err != nil {
			return within(partAt(i), err)
		}
	}
	return nil
}

// asShown leaves out of what was said of a message of which session it was: it is of this one now.
func asShown(shown Message, info jsontext.Value) jsontext.Value {
	out, ours := members(info), membersOf(shown.Info)
	out["sessionID"] = ours["sessionID"]
	return object(out)
}

func marshalled(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return emptyObject
	}
	return b
}

// within places an error of a value inside another, whose pointer then begins there.
func within(at jsontext.Pointer, err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		inside := *e
		inside.JSONPointer, inside.ByteOffset = at+e.JSONPointer, 0
		return &inside
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		inside := *e
		in, index, _ := strings.Cut(strings.TrimPrefix(string(at), "/"), "/")
		if index != "" {
			in += "[" + index + "]"
		}
		return inside.At(in + "." + e.Field)
	}
	return err
}

func takeUser(info jsontext.Value, parts []jsontext.Value) (session.Message, error) {
	var in User
	if err := json.Unmarshal(info, &in); err != nil {
		return nil, within("/info", err)
	}
	u := &session.User{
		Head:  session.Head{ID: in.ID, Type: session.TypeUser, Time: session.MessageTime{Created: in.Time.Created}},
		Agent: in.Agent,
	}
	if in.Model.ModelID != "" {
		u.Model = &session.ModelRef{ID: in.Model.ModelID, ProviderID: in.Model.ProviderID, Variant: in.Model.Variant}
	}
	var p session.Prompt
	for i, raw := range parts {
		var part PartInput
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, within(partAt(i), err)
		}
		switch session.PartType(part.Type) {
		case session.PartText, session.PartFile, session.PartAgent:
			if err := part.add(&p, fmt.Sprintf("parts[%d]", i)); err != nil {
				return nil, err
			}
		}
	}
	u.Text, u.Files, u.Agents, u.Parts = p.Text, p.Files, p.Agents, p.Parts
	return u, nil
}

func partAt(i int) jsontext.Pointer { return jsontext.Pointer(fmt.Sprintf("/parts/%d", i)) }

func takeAssistant(info jsontext.Value, parts []jsontext.Value) (session.Message, error) {
	var in Assistant
	if err := json.Unmarshal(info, &in); err != nil {
		return nil, within("/info", err)
	}
	a := &session.Assistant{
		Head:  session.Head{ID: in.ID, Type: session.TypeAssistant, Time: in.Time},
		Agent: in.Agent, Model: session.ModelRef{ID: in.ModelID, ProviderID: in.ProviderID, Variant: in.Variant},
		Content: []session.Content{}, ParentID: in.ParentID, Finish: in.Finish, Structured: in.Structured,
	}
	if a.Agent == "" {
		a.Agent = in.Mode
	}
	if tokens := ourTokens(in.Tokens); in.Cost != 0 || tokens != (session.Tokens{}) {
		a.Cost, a.Tokens = &in.Cost, &tokens
	}
	if in.Error != nil {
		a.Error = session.Fail(reasonOf(in.Error.Name), in.Error.Data.Message)
	}
	if a.Time.Completed == 0 {
		a.Time.Completed = max(a.Time.Created, 1)
		if a.Error == nil && a.Finish == "" {
			a.Error = session.Fail(session.ReasonAborted, "it had not ended where it was exported")
		}
	}
	for i, raw := range parts {
		if err := takePart(a, raw); err != nil {
			return nil, within(partAt(i), err)
		}
	}
	return a, nil
}

// reasonOf is why a step failed, by OpenCode's name for it.
func reasonOf(name string) session.Reason {
	switch name {
	case "MessageAbortedError":
		return session.ReasonAborted
	case "ProviderAuthError":
		return session.ReasonAuth
	case "APIError":
		return session.ReasonAPI
	case "ContextOverflowError":
		return session.ReasonOverflow
	case "ContentFilterError":
		return session.ReasonContentFilter
	case "MessageOutputLengthError":
		return session.ReasonLength
	case "StructuredOutputError":
		return session.ReasonFormat
	default:
		return session.ReasonInternal
	}
}
