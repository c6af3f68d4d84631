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

// FromOpenCode converts a session from OpenCode. Members without an equivalent are kept in session.Import for export
// and have no effect, nor have rules that allow something.
func FromOpenCode(info jsontext.Value) (*session.Session, error) {
	var in Session
	if err := json.Unmarshal(info, &in); err != nil {
		return nil, err
	}
	// Sessions of older versions have no slug, project or directory; this installation has its own.
	if err := requireMember(info, "id", "title", "version", "time"); err != nil {
		return nil, err
	}
	s := &session.Session{
		ID: in.ID, Slug: in.Slug, ParentID: "", Title: in.Title, Agent: in.Agent, Version: in.Version, Cost: in.Cost,
		Tokens: ourTokens(in.Tokens), Time: session.SessionTime{
			Created: in.Time.Created, Updated: in.Time.Updated, Archived: in.Time.Archived,
		}, Permission: OurRules(in.Permission), Metadata: in.Metadata,
		Location: session.Location{Directory: in.Directory},
	}
	s.Tokens.Total = 0
	s.Permission = slices.DeleteFunc(s.Permission, func(r session.Rule) bool { return r.Effect == session.Allow })
	if m := in.Model; m != nil {
		s.Model = &session.ModelRef{ID: m.ID, ProviderID: m.ProviderID, Variant: m.Variant}
	}
	if r := in.Revert; r != nil {
		s.Revert = &session.Revert{
			MessageID: r.MessageID, PartID: r.PartID, Exclusive: r.PartID == "", Snapshot: r.Snapshot, Diff: r.Diff,
		}
	}
	if c := in.Summary; c != nil {
		s.Changes = &session.Changes{Additions: c.Additions, Deletions: c.Deletions, Files: c.Files}
	}
	beside := membersOfObject(info)
	s.Summary = takeSummary(beside)
	for _, at := range []string{
		"projectID", "workspaceID", "directory",
		"path",
	} { // replaced by this installation's values
		delete(beside, at)
	}
	s.Import = &session.Import{From: importedFormKey}
	if d := diffObjects(membersOf(SessionOf(s)), beside); d != nil {
		d.Unset = nil
		s.Import.Info = encodeValue(d)
	}
	return s, nil
}

// ToOpenCode converts a session for export. An imported session includes its imported members that have not changed
// since.
func ToOpenCode(s *session.Session) jsontext.Value {
	shown := membersOf(SessionOf(s))
	if s.Summary != nil {
		shown[summaryMember] = encodeValue(s.Summary)
	}
	var d objectDiff
	if s.Import == nil || json.Unmarshal(s.Import.Info, &d) != nil {
		return objectOf(shown)
	}
	d.addMissing(shown)
	if rules, ok := d.Set["permission"]; ok && equalWithoutAllows(rules, shown["permission"]) {
		shown["permission"] = rules
	}
	if cost, ok := d.Set["cost"]; ok { // it has more decimal places than session.USD
		var usd session.USD
		if json.Unmarshal(cost, &usd) == nil && usd == s.Cost {
			shown["cost"] = cost
		}
	}
	return objectOf(shown)
}

// summaryMember has the summary of a session in prose in what cairn exports.
const summaryMember = "cairnSummary"

// takeSummary removes the summary from the members of a session and returns it, nil without a valid one.
func takeSummary(members map[string]jsontext.Value) *session.ProseSummary {
	var out session.ProseSummary
	if json.Unmarshal(members[summaryMember], &out) != nil || out.Text == "" || len(out.Text) > session.MaxSummary {
		return nil
	}
	delete(members, summaryMember)
	return &out
}

// equalWithoutAllows reports whether rules are the imported ones without those that allow, which have no effect here.
func equalWithoutAllows(rules, here jsontext.Value) bool {
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

// importedMessage is a message of OpenCode as it was exported.
type importedMessage struct {
	Info  jsontext.Value   `json:"info"`
	Parts []jsontext.Value `json:"parts"`
}

// formOf returns the difference between the message and what this package shows of it.
func (in *importedMessage) formOf(shown Message) *importedForm {
	return importedFormOf(shown, replaceSessionID(shown, in.Info), in.Parts)
}

// keepImported stores the imported form with the message.
func keepImported(m session.Message, form any) {
	m.Meta().Extra = objectOf(map[string]jsontext.Value{importedFormKey: encodeValue(form)})
}

// MessageFromOpenCode converts a message from OpenCode. A turn or call that was still open is ended.
func MessageFromOpenCode(raw jsontext.Value) (session.Message, error) {
	var in importedMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.Info.Kind() != '{' {
		return nil, session.Errorf(session.CodeInvalid, "info must be an object").At("info")
	}
	// The role decides the type.
	var tag struct {
		Role      string     `json:"role"`
		SessionID session.ID `json:"sessionID"`
	}
	if err := json.Unmarshal(in.Info, &tag); err != nil {
		return nil, withinSession("/info", err)
	}
	var m session.Message
	var err error
	switch tag.Role {
	case "user":
		m, err = importUser(in.Info, in.Parts)
	case "assistant":
		m, err = importAssistant(in.Info, in.Parts)
	default:
		err = session.Errorf(session.CodeInvalid, "the role must be user or assistant, got %.40q", tag.Role).
			At("info.role")
	}
	if err != nil {
		return nil, err
	}
	// Check what the types do not require.
	if err := checkComplete(tag.Role, in.Info, in.Parts); err != nil {
		return nil, err
	}
	if err := session.CheckID("info.id", session.PrefixMessage, string(m.Meta().ID)); err != nil {
		return nil, err
	}
	// Keep the parts of the form that this message does not render to, so that an export has them again.
	shown := Render(&session.Session{ID: tag.SessionID}, []session.Message{m}, true)[0]
	if f := in.formOf(shown); f != nil {
		keepImported(m, f)
	}
	return m, nil
}

// requireMember returns an error if a member is missing.
func requireMember(v jsontext.Value, names ...string) error {
	m := membersOfObject(v)
	for _, name := range names {
		if m[name] == nil {
			return session.Errorf(session.CodeInvalid, "%s is missing", name).At(name)
		}
	}
	return nil
}

// checkComplete returns an error if a message lacks members that OpenCode always has.
func checkComplete(role string, info jsontext.Value, parts []jsontext.Value) error {
	names := []string{"id", "sessionID", "time", "agent", "model"}
	if role == "assistant" {
		names = []string{
			"id",
			"sessionID",
			"time",
			"parentID",
			"modelID",
			"providerID",
			"mode",
			"path",
			"cost",
			"tokens",
		}
	}
	if err := requireMember(info, names...); err != nil {
		return withinSession("/info", err)
	}
	for i, p := range parts {
		if err := requireMember(p, "id", "type"); err != nil {
			return withinSession(partAt(i), err)
		}
	}
	return nil
}

// replaceSessionID gives the imported info the session id of shown, because the message belongs to another session now.
func replaceSessionID(shown Message, info jsontext.Value) jsontext.Value {
	out, ours := membersOfObject(info), membersOf(shown.Info)
	out["sessionID"] = ours["sessionID"]
	return objectOf(out)
}

// withinSession prefixes the pointer of an error with the position of the value that it is about.
func withinSession(at jsontext.Pointer, err error) error {
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

func importUser(info jsontext.Value, parts []jsontext.Value) (session.Message, error) {
	var in User
	if err := json.Unmarshal(info, &in); err != nil {
		return nil, withinSession("/info", err)
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
			return nil, withinSession(partAt(i), err)
		}
		switch session.PartType(part.Type) {
		case session.PartText, session.PartFile, session.PartAgent:
			if err := part.appendTo(&p, fmt.Sprintf("parts[%d]", i)); err != nil {
				return nil, err
			}
		}
	}
	u.Text, u.Files, u.Agents, u.Parts = p.Text, p.Files, p.Agents, p.Parts
	return u, nil
}

func partAt(i int) jsontext.Pointer { return jsontext.Pointer(fmt.Sprintf("/parts/%d", i)) }

func importAssistant(info jsontext.Value, parts []jsontext.Value) (session.Message, error) {
	var in Assistant
	if err := json.Unmarshal(info, &in); err != nil {
		return nil, withinSession("/info", err)
	}
	// The turn, with the costs and the failure that it recorded.
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
	// A turn that had not ended is an aborted one: nothing continues it here.
	if a.Time.Completed == 0 {
		a.Time.Completed = max(a.Time.Created, 1)
		if a.Error == nil && a.Finish == "" {
			a.Error = session.Fail(session.ReasonAborted, "it had not ended when the session was exported")
		}
	}
	for i, raw := range parts {
		if err := importPart(a, raw); err != nil {
			return nil, withinSession(partAt(i), err)
		}
	}
	return a, nil
}

// reasonOf converts OpenCode's error name to a reason.
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
