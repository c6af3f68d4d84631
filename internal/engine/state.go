package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/archive"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Engine runs sessions. Safe for concurrent use.
type Engine struct {
	Commands *admit.Commands  // what callers ask of a session
	Asks     *ask.Asks        // permission asks and questions
	Archive  *archive.Archive // exports and imports logs; nil without Config.Files
	Jobs     *task.Registry   // background jobs

	journal   *turnlog.Journal
	locations scope.Scopes
	limits    Limits
	logger    *slog.Logger
	onCreate  func(*session.Session) // nil does nothing

	coordinator  *coordinator
	sessionSlots *semaphore.Weighted // of drains
	toolSlots    *semaphore.Weighted // of tool calls
	titles       *compaction.TitleGenerator
	summaries    compaction.BackgroundTasks // of sessions, in prose
	changes      *undo.ChangeRecorder
	shrinker     *compaction.Shrinker
	subagents    *task.Runner
	statuses     statusBoard
	retryWaits   turnlog.RetryWaits
	histories    Histories
	used         usedSessions

	closed    atomic.Bool // no new work is accepted
	recovered atomic.Bool // Recover has been called
}

// drain is one process-local span of work on one session. It belongs to one goroutine.
type drain struct {
	engine  *Engine
	id      session.ID
	reader  boundaryReader
	slot    Slot               // among the sessions that run
	step    int                // number of the next turn within the agent's steps; 1 after a promotion
	started time.Time          // of the work on the newest input, for wall-clock budgets
	retries turnlog.RetryState // attempts of the current turn
	cut     string             // the text of the last answer that ended without an end marker; "" if it had calls
	shrunk  bool               // a compaction followed a request that was too large, and no turn has ended well since
	pauses  int                // answers in a row that their provider paused
	worked  bool               // it took turns: after a store failure it resumes as after a restart
	cutBy   interruption       // what left the turns open that it finds open

	extensions *extension.Run // of the newest turn; nil without any
	answered   bool           // the newest turn sent a request and ended well, and calls for no other one
	continued  int            // messages by which extensions made the work go on since the newest prompt
	work       *observedWork  // nil before its first turn

	summarize bool // its session gets a summary when the work has ended
	keepAsks  bool // turns whose calls wait for replies stay open

	restricted bool // a caller that may not approve asked for some of its work; see session.Input
}

// newDrain returns a drain that starts now and has no slot yet.
func newDrain(e *Engine, id session.ID) *drain {
	return &drain{
		engine: e, id: id, reader: boundaryReader{id: id, histories: &e.histories, steerBatch: e.limits.SteerBatch},
		started: e.journal.Now(), cutBy: cutByRestart,
	}
}

// interruption names the cause that interrupted the resumed work, in the words for each event that names it.
type interruption struct{ cause, turn, resumed, by string }

// What cuts work off.
var (
	cutByRestart = interruption{"restart", "cairn was stopped", "cairn was restarted", "by the end of cairn"}
	cutByStore   = interruption{
		"store", "the data could not be written", "the data could not be written",
		"because the data could not be written",
	}
)

// turnInput is the state that one turn samples at its boundary. Later changes take effect at the next turn.
type turnInput struct {
	session  *session.Session
	scope    *scope.Scope
	moved    bool // the session's project is in another directory, that of scope
	sources  systemcontext.Context
	agent    session.Agent
	rights   []permission.Layer // permission rules, lowest precedence first
	model    *scope.Model
	earlier  *session.ModelRef // the model of the earlier turns, if the default would be the guide: the turn uses it; else nil
	epoch    *store.Epoch
	history  *history.History
	cached   *CachedSession
	prompt   session.MessageID     // the newest one: what the turn answers
	policy   ask.Policy            // of the newest prompt
	asks     session.AskPolicy     // the same, as the prompt has it
	recovery session.Recovery      // of the newest prompt
	lastStep bool                  // the last of the agent's steps: text only
	subtasks subtaskCalls          // the calls of a turn for which no model is asked
	output   *history.OutputSchema // nil without structured output
	offered  *tool.Set

	compaction *session.Input // the request for a compaction that comes first, nil without one

	request *compaction.FitRequest // set before it is sent

	extensions *extension.Run                // of the turn; nil without any
	altered    map[string]llm.ToolDefinition // tools whose definitions extensions changed, by name
	shown      []session.Message             // what extensions made of the messages; nil: the history's own
	alteredBy  []string                      // the extensions that changed tools or messages

	restricted bool // session and rights lack what the session allows, and its approvals do not apply
}

// sampleLocation returns the input of a turn with what the session's location offers: its agent, its rules and the
// sources of its context. It changes nothing. The caller calls release, also after an error.
func (e *Engine) sampleLocation(ctx context.Context, now *boundary) (input *turnInput, release func(), err error) {
	input = emptyInput(now.session)
	input.compaction = now.compaction
	loc, moved, release, err := scope.OpenForWork(ctx, e.locations, now.session)
	if err != nil {
		return input, func() {}, err
	}
	input.scope, input.moved, input.agent = loc, moved, loc.FindAgent(now.session.Agent)
	input.extensions = loc.Chain.Begin()
	if input.rights, err = e.Asks.CollectRules(ctx, loc, now.session, input.agent); err == nil {
		input.sources, err = loc.Context(ctx, scope.ContextInput{Session: now.session, Agent: input.agent})
		input.sources = append(input.sources, input.extensionSources(ctx, now.epoch == nil)...)
	}
	return input, release, err
}

// takeBoundary takes what the turn needs of the session after promotion. restricted is of the drain's work.
func (input *turnInput) takeBoundary(now *boundary, cached *CachedSession, restricted bool) (err error) {
	input.epoch, input.history, input.cached = now.epoch, now.history, cached
	input.prompt = now.history.ContinuedID()
	if input.output, err = now.history.FindOutputSchema(); err != nil {
		return err
	}
	input.recovery, input.restricted = now.recovery, restricted
	return input.setPolicy(now.policy)
}

// resolveModel sets the model of the turn. A request for a compaction may name one that stands in for a lost one. If only the
// guide is the default, a session with turns of another model uses that model: resolving it fails if it is not available, for
// example because the program that offered it has ended.
func (input *turnInput) resolveModel() (err error) {
	input.model, err = input.scope.ResolveModel(input.session.Model, input.agent)
	if err == nil && input.isGuideDefault() {
		if earlier := input.history.FindOtherModel(input.model.Ref); earlier != nil {
			input.earlier = earlier
			input.model, err = input.scope.Models.Resolve(*earlier, input.agent)
		}
	}
	if err != nil && input.compaction != nil && input.compaction.Compaction.Model != nil {
		input.model, err = input.scope.ResolveModel(input.compaction.Compaction.Model, input.agent)
	}
	if err != nil {
		return err
	}
	input.model = correctWindow(input.model, input.cached.Windows[input.model.Ref])
	return nil
}

// isGuideDefault reports whether the guide answers because no model is selected and no language model can be used.
func (input *turnInput) isGuideDefault() bool {
	return input.model.IsGuide && input.session.Model == nil && input.agent.Model == nil
}

// checkResumedModel returns why the turn cannot resume the work that another process began: no turn of the session says
// which model it was for, and only the guide is the default here.
func (input *turnInput) checkResumedModel() error {
	if !input.isGuideDefault() || input.history.HasTurn() {
		return nil
	}
	return session.Errorf(session.CodeInvalid, "the model of this prompt is unknown: no turn recorded one, and no "+
		"language model is configured; select a model, or store a key with cairn auth login").At("model")
}

// isLastStep reports whether the turn with the number, from 1, is the last of the agent's steps.
func (input *turnInput) isLastStep(number int) bool {
	return input.agent.Steps > 0 && number >= input.agent.Steps
}

// setPolicy sets how asks are answered. A policy that answers all of them overrides what an open session allows: it
// decides where no rule does. No asks of restricted work are allowed in advance: people reply to them.
func (input *turnInput) setPolicy(policy session.AskPolicy) (err error) {
	if input.restricted && policy.Allows() {
		policy = ""
	}
	input.asks = policy
	input.policy, err = ask.ParsePolicy(policy)
	isOwn := input.policy.Kind != ask.PolicyInteractive && input.policy.Kind != ask.PolicyEdits
	if err != nil || !isOwn || !input.session.Open {
		return err
	}
	asking := *input.session
	asking.Open = false
	input.session, input.rights = &asking, scope.RemoveOpenRules(input.rights)
	return nil
}

// tools returns the tools that the request offers. Calls are settled with the same snapshot.
func (input *turnInput) tools() *tool.Set {
	if input.offered == nil && input.subtasks != nil {
		input.offered = input.scope.Tools.TakeSnapshot(func(string) bool { return false })
	}
	if input.offered == nil {
		input.offered = history.OfferTools(input.scope.Tools, input.model, input.rights)
	}
	return input.offered
}

// baselineSeq returns the seq where the visible history begins, 0 if calls are resumed after a restart.
func (input *turnInput) baselineSeq() int64 {
	if input.epoch == nil {
		return 0
	}
	return input.epoch.BaselineSeq
}

// requestInput returns what the request is built from.
func (input *turnInput) requestInput() *history.Input {
	return &history.Input{
		Session: input.session, Agent: input.agent, Rights: input.rights, Model: input.model, Tools: input.tools(),
		Baseline: input.epoch.Baseline, BaselineSeq: input.epoch.BaselineSeq, History: input.history, Output: input.output,
		Last: input.lastStep, Altered: input.altered, Shown: input.shown,
	}
}

// buildRequest builds the request of the turn and measures it. What was sampled decides it: the preview of the next
// request is built here, too.
func (input *turnInput) buildRequest() {
	input.request = &compaction.FitRequest{
		Session: input.session, Scope: input.scope, Sources: input.sources, Agent: input.agent, Model: input.model,
		Epoch: input.epoch, History: input.history,
	}
	input.request.Build(input.requestInput())
}

// describeRequest returns the prefix of the request, and what the turn records about it.
func (input *turnInput) describeRequest() sentRequest {
	sent := sentRequest{prefix: llm.PrefixOf(input.request.Built)}
	sent.record = input.requestInput().ComparePrefix(sent.prefix, input.cached.Sent)
	size := input.request.Size
	sent.record.Bytes, sent.record.Dense, sent.record.Media = size.Bytes, size.Dense, size.Media
	return sent
}

// turn is one provider turn. It belongs to the drain's goroutine; its calls settle in goroutines of their own.
type turn struct {
	engine   *Engine
	id       session.ID
	slot     *Slot // of the drain
	input    *turnInput
	recorder *turnlog.Recorder
	calls    []*toolCall
	changes  *undo.Step // of files; nil where they are not recorded
	reopened bool       // an earlier process left it open
}

// toolCall is one local call of a turn while it settles.
type toolCall struct {
	call *turnlog.Call
	slot Slot            // among the tool calls of the process
	asks *ask.AskingCall // orders and tracks what the call asks
	// halted says that extensions ended the work with the call, and why; "" if they did not.
	halted string
}

func (c *toolCall) outputCall() history.OutputCall {
	return history.OutputCall{Name: c.call.Name, Input: c.call.Input, Invalid: c.call.Invalid, Cut: c.call.Cut}
}

// sentRequest is the prefix of a request, and what its turn records about it. Without a request record is nil.
type sentRequest struct {
	prefix  llm.Prefix
	record  *session.CachePrefix
	altered *session.Alteration
}

// newTurn returns a turn that has not begun.
func (d *drain) newTurn(input *turnInput, sent sentRequest) *turn {
	return &turn{
		engine: d.engine, id: d.id, slot: &d.slot, input: input, recorder: turnlog.NewRecorder(d.recorderConfig(input, sent)),
		changes: d.engine.changes.NewStep(input.scope.Files, d.id, input.prompt),
	}
}

// reopenTurn returns a turn that was left open, with its answer if that was complete.
func (d *drain) reopenTurn(input *turnInput, m session.MessageID, answer *session.Answer) *turn {
	c := d.recorderConfig(input, sentRequest{})
	return &turn{
		engine: d.engine, id: d.id, slot: &d.slot, input: input, recorder: turnlog.ReopenTurn(c, m, answer), reopened: true,
		changes: d.engine.changes.NewStep(input.scope.Files, d.id, input.prompt),
	}
}

// maxPauses bounds how often in a row a provider may pause its answer and continue it in another turn.
const maxPauses = 5

func (d *drain) recorderConfig(input *turnInput, sent sentRequest) turnlog.RecorderConfig {
	c := turnlog.RecorderConfig{
		Journal: d.engine.journal, SessionID: d.id, Agent: input.agent.ID, Model: input.model.Ref, ParentID: input.prompt,
		Prefix: sent.record, Altered: sent.altered, Cost: input.model.Cost, NoPause: input.lastStep || d.pauses == maxPauses,
		AnswerBytes: d.engine.limits.AnswerBytes, CheckBytes: d.engine.limits.CheckBytes, Subtasks: input.subtasks != nil,
	}
	if sent.record != nil {
		c.OnStart = func(m session.MessageID) { d.keepPrefix(input, m, sent) }
	}
	if input.extensions.HasText() {
		c.ReviewText = input.reviewText
	}
	if !input.lastStep {
		c.ToolName = func(name string) string { return input.tools().CanonicalName(name) }
	}
	return c
}

// keepPrefix keeps the prefix of a request whose turn has begun, and warns if the prefix changed without a known cause:
// the provider then charges for the whole conversation again.
func (d *drain) keepPrefix(input *turnInput, m session.MessageID, sent sentRequest) {
	input.cached.Sent = history.SentPrefix{Turn: m, Prefix: sent.prefix}
	if changed := sent.record.UnexpectedChange(); changed != "" {
		d.engine.logger.Warn(
			"the prefix of a request changed without a known cause, so the provider's cache does not apply",
			"session",
			d.id,
			"turn",
			m,
			"changed",
			changed,
		)
	}
}
