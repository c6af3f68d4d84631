package admit

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// PromptRequest asks to admit a prompt.
type PromptRequest struct {
	SessionID session.ID
	ID        session.MessageID // the caller's idempotency key; "" makes one
	Prompt    session.Prompt
	Delivery  session.Delivery // "" is steer
	Hold      bool             // admit only: start no work (resume=false)
	NoReply   bool             // for the history alone; implies Hold
	Recovery  session.Recovery // "" is resume
	Asks      session.AskPolicy
	// Restricted is set for callers that may not approve; see session.Input.
	Restricted bool
	UnderWay   bool   // part of work under way, which goes on without room for new work
	Named      bool   // resolve the agent and the model now, also where the prompt leaves them open
	Variant    string // with Named: of the model; "" keeps that of the agent or of the named model
	// ReadFiles, if set, puts the content of named files into the prompt, unless it was admitted before.
	ReadFiles func(context.Context, *session.Session, *session.Prompt)

	target     *promptTarget   // nil until it is read
	original   *session.Prompt // what the caller sent, if extensions changed it
	extensions []string        // that did
}

// A prompt is validated in two steps. checkPrompt needs the request alone and fills in its defaults. resolvePrompt
// reads the session once and opens the scope of its location once: it checks what the prompt names, and resolves its
// agent and model.

// checkPrompt validates the request by itself and fills in its defaults.
func (c *Commands) checkPrompt(r *PromptRequest) error {
	// How it is admitted: id, delivery, policy and recovery.
	if r.ID == "" {
		r.ID = c.journal.NewMessageID()
	} else if err := session.CheckID("id", session.PrefixMessage, string(r.ID)); err != nil {
		return err
	}
	r.Delivery = cmp.Or(r.Delivery, session.Steer)
	r.Hold = r.Hold || r.NoReply
	if err := checkDelivery(r.Delivery); err != nil {
		return err
	}
	if _, err := ask.ParsePolicy(r.Asks); err != nil {
		return err
	}
	if r.Recovery != "" && r.Recovery != session.RecoveryPause && r.Recovery != session.RecoveryResume {
		return session.Errorf(session.CodeInvalid, "recovery must be %q or %q, got %q",
			session.RecoveryPause, session.RecoveryResume, r.Recovery).At("recovery")
	}
	// What it says: something, within the limits, in text that can be stored.
	p := &r.Prompt
	hasText := strings.TrimSpace(p.Text) != ""
	if p.Empty() || !hasText && len(p.Files) == 0 && len(p.Agents) == 0 && len(p.Subtasks) == 0 {
		return session.Errorf(session.CodeInvalid, "the prompt is empty: it needs text, a file or an agent").
			At("prompt.text")
	}
	p.Files = append([]session.File(nil), p.Files...) // the caller's stay as they are; an empty list is nil
	if len(p.Agents) == 0 {
		p.Agents = nil
	}
	if err := c.limits.checkContent(p); err != nil {
		return err
	}
	if err := history.CheckFormat(p.Format); err != nil {
		return err
	}
	return checkEncoding(p)
}

func checkDelivery(d session.Delivery) error {
	if d == session.Steer || d == session.Queue {
		return nil
	}
	return session.Errorf(session.CodeInvalid,
		"delivery must be %q or %q, got %q", session.Steer, session.Queue, d).At("delivery")
}

// checkContent replaces invalid UTF-8 in the prompt's text, completes its files, and refuses content that no model
// could be sent.
func (l Limits) checkContent(p *session.Prompt) error {
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	size := len(p.Text)
	if err := completeFiles(p.Files, &size); err != nil {
		return err
	}
	if err := completeSubtasks(p, &size); err != nil {
		return err
	}
	if size > l.PromptBytes {
		return session.Errorf(session.CodeTooLarge,
			"the prompt with its attachments has %d bytes, the limit is %d", size, l.PromptBytes).At("prompt")
	}
	for i, f := range slices.Concat(p.Files, subtaskFiles(p)) {
		if err := l.checkAttachment(f, fileField(i)); err != nil {
			return err
		}
	}
	return p.CheckParts("prompt")
}

// checkEncoding refuses a prompt that cannot be stored.
func checkEncoding(p *session.Prompt) error {
	if _, err := json.Marshal(p); err != nil {
		return session.Errorf(session.CodeInvalid, "the prompt contains text that is not valid UTF-8").
			At("prompt").
			Because(err)
	}
	return nil
}

// checkAttachment refuses a data: URI that cannot be decoded, is too large, or whose content is not of its declared
// type. Other URIs have no content here.
func (l Limits) checkAttachment(f session.File, field string) error {
	if !strings.HasPrefix(f.URI, "data:") {
		return nil
	}
	_, data, ok := session.DataURI(f.URI)
	encoded := base64.StdEncoding.EncodedLen(len(data))
	switch {
	case !ok:
		return session.Errorf(session.CodeInvalid,
			"%s is not a valid data: URI: it must be data:TYPE;base64, and base64 text", field).At(field)
	case strings.HasPrefix(f.Mime, "image/") && encoded > l.ImageBytes:
		return session.Errorf(session.CodeTooLarge,
			"the image %s has %d bytes in base64, the limit is %d", quoteName(f), encoded, l.ImageBytes).At(field)
	case len(data) > l.FileBytes:
		return session.Errorf(session.CodeTooLarge,
			"the file %s has %d bytes, the limit is %d", quoteName(f), len(data), l.FileBytes).At(field)
	}
	if detected := http.DetectContentType(data); isDetectable(f.Mime) && !isSameType(f.Mime, detected) {
		return session.Errorf(session.CodeInvalid,
			"the content of %s is not of type %s; it looks like %s", quoteName(f), f.Mime, detected).At(field)
	}
	return nil
}

func quoteName(f session.File) string {
	if f.Name == "" {
		return "attachment"
	}
	return fmt.Sprintf("%.100q", f.Name)
}

func isSameType(declared, detected string) bool {
	return declared == detected || declared == "image/jpg" && detected == "image/jpeg"
}

// resolvePrompt checks the agents, the model and the files that a prompt names, and resolves its agent and model if
// Named. The files and agents of a prompt that was admitted before are not checked again: its receipt does not depend
// on whether they still exist.
func (c *Commands) resolvePrompt(ctx context.Context, r *PromptRequest) error {
	p := &r.Prompt
	selects := p.Agent != "" || p.Model != nil || r.Named
	if !selects && len(p.Files) == 0 && len(p.Agents) == 0 && len(p.Subtasks) == 0 {
		return nil
	}
	// A prompt that was admitted before gets its receipt: its files and agents are not checked again.
	s, admitted, err := c.readTarget(ctx, r)
	if err != nil {
		return err
	}
	files, agents, subtasks := p.Files, p.Agents, p.Subtasks
	if admitted {
		files, agents, subtasks = nil, nil, nil
	}
	if !selects && len(agents) == 0 && len(subtasks) == 0 {
		return checkFileURIs(files)
	}
	// Resolve the selection first: it decides the rules that apply to the mentioned agents.
	scope, release, err := scope.Open(ctx, c.locations, s)
	if err != nil {
		return err
	}
	defer release()
	if selects {
		if err := r.resolveSelection(scope, s); err != nil {
			return err
		}
	}
	agent := cmp.Or(p.Agent, s.Agent, scope.DefaultAgent)
	fillSubtasks(p, agent)
	if len(agents) > 0 {
		p.Agents = markDenied(agents, scope.RulesFor(scope.FindAgent(agent), s))
	}
	return cmp.Or(checkFileURIs(files), checkMentions(scope, agents), checkSubtasks(scope, subtasks))
}

// markDenied returns the mentions with whether the rules deny the call of the agent.
func markDenied(agents []session.AgentMention, rules []permission.Layer) []session.AgentMention {
	agents = slices.Clone(agents)
	for i, a := range agents {
		agents[i].Denied = permission.Evaluate(rules, nil, "task", a.Name).Effect == session.Deny
	}
	return agents
}

// readFiles reads the named files of a prompt that is new.
func (c *Commands) readFiles(ctx context.Context, r *PromptRequest) error {
	if r.ReadFiles == nil || len(r.Prompt.Files) == 0 && len(subtaskFiles(&r.Prompt)) == 0 {
		return nil
	}
	s, admitted, err := c.readTarget(ctx, r)
	if err != nil || admitted {
		return err
	}
	r.Prompt.Files = slices.Clone(r.Prompt.Files)
	r.ReadFiles(ctx, s, &r.Prompt)
	r.Prompt.Subtasks = slices.Clone(r.Prompt.Subtasks)
	for i := range r.Prompt.Subtasks {
		t := &r.Prompt.Subtasks[i]
		files := session.Prompt{Files: slices.Clone(t.Files)}
		r.ReadFiles(ctx, s, &files)
		t.Files = files.Files
	}
	return nil
}

// promptTarget is the session of a prompt with the agent and the model that the pending prompts select, and whether the
// prompt was admitted before.
type promptTarget struct {
	session  *session.Session
	admitted bool
}

// readTarget returns the prompt's session, and whether the prompt was admitted before. It is read once.
func (c *Commands) readTarget(ctx context.Context, r *PromptRequest) (s *session.Session, admitted bool, err error) {
	if r.target != nil {
		return r.target.session, r.target.admitted, nil
	}
	err = c.journal.Store.View(ctx, func(rd store.Reader) (err error) {
		if s, err = store.FindSession(rd, r.SessionID); err != nil {
			return err
		}
		pending, err := store.PendingInputs(rd, r.SessionID, "", 0)
		for _, in := range pending {
			s.Apply(&session.Prompted{Prompt: in.Prompt})
		}
		if err == nil {
			_, admitted, err = store.FindInput(rd, r.ID)
		}
		return err
	})
	if err == nil {
		r.target = &promptTarget{s, admitted}
	}
	return s, admitted, err
}

// resolveSelection checks the agent and the model of the prompt. If Named, those that are open become what the
// location would use: its default agent, and the model of the agent, else of the session, else the default.
func (r *PromptRequest) resolveSelection(scope *scope.Scope, s *session.Session) error {
	p := &r.Prompt
	if err := scope.CheckSelection(p.Agent, p.Model); err != nil || !r.Named {
		return err
	}
	if p.Agent == "" {
		p.Agent = scope.DefaultAgent
	}
	if p.Model == nil {
		p.Model = scope.PromptModel(s, p.Agent)
	}
	if r.Variant == "" || p.Model == nil {
		return nil
	}
	m := *p.Model
	m.Variant, p.Model = r.Variant, &m
	return scope.CheckSelection("", p.Model)
}

// checkReferences refuses an edited prompt that names files, agents or a model that do not exist.
func (c *Commands) checkReferences(ctx context.Context, id session.ID, p session.Prompt) error {
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil {
		return err
	}
	isAlone := len(p.Agents) == 0 && len(p.Subtasks) == 0 && p.Agent == "" && p.Model == nil
	if err := checkFileURIs(p.Files); err != nil || isAlone {
		return err
	}
	scope, release, err := scope.Open(ctx, c.locations, s)
	if err != nil {
		return err
	}
	defer release()
	return cmp.Or(
		scope.CheckSelection(p.Agent, p.Model), checkMentions(scope, p.Agents), checkSubtasks(scope, p.Subtasks),
	)
}

func checkMentions(scope *scope.Scope, mentions []session.AgentMention) error {
	for i, a := range mentions {
		if _, ok := scope.Agents[a.Name]; !ok {
			nearest := scope.AgentNames(session.Agent.IsMentionable)
			return session.NotFound("agent", a.Name, nearest...).At(fmt.Sprintf("prompt.agents[%d].name", i))
		}
	}
	return nil
}
