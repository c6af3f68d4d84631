package opencode

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// Fold converts the log's events of one session to bus events, in order. It keeps the state that they depend on: the
// session, the prompts that wait for an answer, and the newest turn. It is not safe for concurrent use.
type Fold struct {
	Session *session.Session

	turn        *session.Assistant
	asked       *session.User   // the prompt that turn answers
	prompts     []*session.User // prompts admitted after it
	stepStarted bool            // the turn's step-start part was sent
	shell       *session.Shell  // the newest user command

	selected selection                  // by the session, as it was sent last
	requests map[session.MessageID]bool // requests for a compaction in the inbox, which were announced

	lastStatus   string // the last status sent
	isAnswering  bool   // a turn, or a compaction with which the work goes on, began since the session was idle
	busyRepeated bool   // the second "busy", which OpenCode sends before a response or failure, was sent
	failed       *Error // error of the last turn, until it is sent
	failedFor    session.MessageID
	diffs        []FileDiff // of the session, as of the newest event that has them
	through      int64      // seq that the state includes; events up to it are converted but change nothing
}

// Rows is the initial state of a Fold: the stored rows, which include all events up to Through.
type Rows struct {
	Session *session.Session
	Turn    *session.Assistant // the newest turn, or nil
	Asked   *session.User      // the newest promoted prompt, or nil
	Shell   *session.Shell     // the newest user command; nil: none
	Pending []*session.Input
	Through int64
}

// NewFold returns a fold that continues after the rows.
func NewFold(r Rows) *Fold {
	f := &Fold{
		Session: r.Session, turn: r.Turn, asked: r.Asked, shell: r.Shell, through: r.Through,
		selected: selectionOf(r.Session),
	}
	for _, in := range r.Pending {
		if in.Compaction != nil {
			f.announceRequest(requestMessage(r.Session, in.TimeCreated, in.ID, *in.Compaction), in.TimeCreated)
			continue
		}
		f.admitPrompt(in.TimeCreated, in.ID, in.Prompt)
	}
	f.stepStarted = r.Turn != nil && len(r.Turn.Content) > 0
	return f
}

// selection is the agent and the model of a session.
type selection struct {
	agent string
	model session.ModelRef
}

func selectionOf(s *session.Session) selection {
	out := selection{agent: s.Agent}
	if s.Model != nil {
		out.model = *s.Model
	}
	if out.model.Variant == "default" {
		out.model.Variant = ""
	}
	return out
}

// ResumeFrom takes over what earlier announced beyond the rows of the same session.
func (f *Fold) ResumeFrom(earlier *Fold) {
	f.lastStatus, f.isAnswering, f.busyRepeated = earlier.lastStatus, earlier.isAnswering, earlier.busyRepeated
	f.failed, f.failedFor = earlier.failed, earlier.failedFor
}

// Begin returns a fold of a session without events.
func Begin() *Fold { return &Fold{Session: &session.Session{}, through: -1} }

// IncludesSeq reports whether the fold's state includes the event at the seq.
func (f *Fold) IncludesSeq(seq int64) bool { return seq <= f.through }

// NeedsTurn reports whether the fold's newest turn is another one, so that the fold must start again from rows that
// have the turn.
func (f *Fold) NeedsTurn(turn session.MessageID) bool {
	return turn != "" && (f.turn == nil || f.turn.ID != turn) && !IsAnswerOf(f.shell, turn)
}

func (f *Fold) admitPrompt(at int64, id session.MessageID, p session.Prompt) *session.User {
	d := &session.Prompted{Fact: session.Fact{Timestamp: at}, MessageID: id, Prompt: p}
	u, _ := session.Begin(d, 0).(*session.User)
	known := func(o *session.User) bool { return o.ID == id }
	if slices.ContainsFunc(f.prompts, known) || f.asked != nil && known(f.asked) {
		return u
	}
	f.prompts = append(f.prompts, u)
	return u
}

// ApplyEvent applies one event and returns its bus events.
func (f *Fold) ApplyEvent(e *session.Event) []Event {
	fresh := e.Seq > f.through
	if fresh {
		f.through = e.Seq
	}
	if fresh {
		f.Session.Apply(e.Data)
	}
	next := f.v2Events(e)
	if out, ok := f.lifecycleEvents(e.Data); ok {
		return append(next, out...)
	}
	if m, ok := session.Begin(e.Data, e.Seq).(*session.Assistant); ok && fresh {
		f.turn = m
	}
	if f.turn == nil || session.ChangedTurn(e.Data) != f.turn.ID && !f.startsTurn(e.Data) {
		return append(next, f.otherEvents(e.Data)...)
	}
	if fresh {
		f.turn.Apply(e.Data)
	}
	return append(next, f.stepEvents(e.Data)...)
}

// startsTurn reports whether the event starts the current turn.
func (f *Fold) startsTurn(d session.EventData) bool {
	s, ok := d.(*session.StepStarted)
	return ok && f.turn.ID == s.AssistantMessageID
}

// lifecycleEvents converts events about the session, its inbox and its asks; ok is false for other events.
func (f *Fold) lifecycleEvents(d session.EventData) (out []Event, ok bool) {
	// In the order of a session's life: creation, the inbox, edits, todos, asks. Other changes share session.updated.
	switch d := d.(type) {
	case *session.Created:
		f.selected = selectionOf(f.Session)
		return []Event{{
			Type: "session.created", Properties: SessionInfo{f.Session.ID, SessionOf(f.Session)},
			Durable: true,
		}}, true
	case *session.MessageImported:
		return f.copiedMessage(session.Begin(d, 0)), true
	case *session.MessagesCopied:
		return f.copiedMessages(d), true
	case *session.PromptAdmitted:
		return f.admissionEvents(d), true
	case *session.Prompted:
		return f.selectionEvents(f.Session), true
	case *session.InputWithdrawn:
		return append([]Event{f.messageRemoved(d.MessageID)}, f.selectionEvents(f.Session)...), true
	case *session.MessageRemoved:
		if d.AnswerID != "" {
			out = append(out, f.messageRemoved(d.AnswerID))
		}
		return append(out, f.messageRemoved(d.MessageID)), true
	case *session.InputEdited:
		return f.editEvents(d.MessageID, "", d.Prompt, d.Timestamp), true
	case *session.MessageEdited:
		return f.editEvents(d.MessageID, d.PartID, d.Prompt, d.Timestamp), true
	case *session.TodosSet:
		return []Event{{Type: "todo.updated", Properties: Todos{f.Session.ID, d.Todos}}}, true
	case *session.PermissionAsked:
		if d.Ask.IsQuestion() {
			return []Event{{Type: "question.asked", Properties: QuestionOf(f.Session.ID, d.Ask)}}, true
		}
		return []Event{{Type: "permission.asked", Properties: PermissionOf(f.Session.ID, d.Ask)}}, true
	case *session.PermissionReplied:
		return []Event{replyEvent(f.Session.ID, d)}, true
	default:
		if session.ChangesSession(d) {
			return []Event{f.sessionUpdated()}, true
		}
		if out, ok := f.revertEvents(d); ok {
			return out, true
		}
		return f.compactionEvents(d)
	}
}

// admissionEvents announces an admitted prompt. An idle session promotes it next: then what the prompt selects is
// announced before the prompt, as OpenCode does.
func (f *Fold) admissionEvents(d *session.PromptAdmitted) []Event {
	s := *f.Session
	isHeld := d.Hold && !d.NoReply || d.Delivery == session.Queue
	if works := f.turn != nil && f.turn.Next().NeedsTurn(); !works && !isHeld {
		s.Apply(&session.Prompted{Prompt: d.Prompt})
	}
	out := f.selectionEvents(&s)
	u := f.admitPrompt(d.Timestamp, d.MessageID, d.Prompt)
	return append(append(out, f.promptEvents(u, d.Timestamp)...), f.sessionUpdatedAs(&s))
}

// selectionEvents announces the session if it has another agent or model than was announced last.
func (f *Fold) selectionEvents(s *session.Session) []Event {
	if selectionOf(s) == f.selected {
		return nil
	}
	return []Event{f.sessionUpdatedAs(s)}
}

func (f *Fold) messageRemoved(m session.MessageID) Event {
	return Event{Type: "message.removed", Properties: MessageGone{f.Session.ID, m}, Durable: true}
}

func (f *Fold) sessionUpdated() Event { return f.sessionUpdatedAs(f.Session) }

func (f *Fold) sessionUpdatedAs(s *session.Session) Event {
	f.selected = selectionOf(s)
	return Event{Type: "session.updated", Properties: SessionInfo{s.ID, SessionOf(s)}, Durable: true}
}

// promptEvents announces a new prompt with its parts.
func (f *Fold) promptEvents(u *session.User, at int64) []Event {
	m := userMessage(f.Session, u)
	out := []Event{f.messageUpdated(m.Info)}
	for _, p := range m.Parts {
		out = append(out, f.partUpdated(p, at))
	}
	return out
}

func (f *Fold) messageUpdated(i Info) Event {
	return Event{Type: "message.updated", Properties: MessageInfo{f.Session.ID, i}, Durable: true}
}

func (f *Fold) partUpdated(p Part, at int64) Event {
	return Event{Type: "message.part.updated", Properties: PartInfo{f.Session.ID, p, at}, Durable: true}
}

// otherEvents converts events that belong to no turn.
func (f *Fold) otherEvents(d session.EventData) []Event {
	switch d := d.(type) {
	case *session.SyntheticAdded:
		return f.syntheticAdded(d)
	case *session.ShellStarted:
		return f.shellStarted(session.Begin(d, 0).(*session.Shell))
	case *session.ShellEnded:
		return f.shellEnded(d)
	case *session.Interrupted:
		f.failed, f.failedFor = d.Error.PublicForm(""), ""
		return nil
	default:
		return nil
	}
}

// stepEvents converts an event of the current turn after it was applied.
func (f *Fold) stepEvents(d session.EventData) []Event {
	at := d.Stamp().Timestamp
	// In the order of a turn: its start, text, reasoning and calls; then edits, hidden outputs and its end.
	switch d := d.(type) {
	case *session.StepStarted:
		return f.turnStarted()
	case *session.TextStarted:
		return f.itemEvents(d.PartID, at)
	case *session.TextEnded:
		return f.itemEvents(d.PartID, at)
	case *session.ReasoningStarted:
		return f.itemEvents(d.PartID, at)
	case *session.ReasoningEnded:
		return f.itemEvents(d.PartID, at)
	case *session.ToolInputStarted:
		if f.turn.Subtasks { // its call is complete at once
			return nil
		}
		return f.itemEvents(d.PartID, at)
	case *session.ToolCalled:
		if f.turn.Subtasks {
			return f.subtaskCalled(d)
		}
		return f.itemEvents(d.PartID, at)
	case *session.ToolProgress:
		return f.itemEvents(d.PartID, at)
	case *session.ToolSuccess:
		return append(f.fileChanges(d), f.itemEvents(d.PartID, at)...)
	case *session.ToolFailed:
		return f.itemEvents(d.PartID, at)
	case *session.PartEdited:
		return f.itemEvents(d.PartID, at)
	case *session.PartRemoved:
		out := []Event{f.partRemoved(d.AssistantMessageID, d.PartID)}
		// The patch part is derived from the end of the turn, so it disappears with it.
		if d.PartID == f.turn.EndID && hasPatch(f.turn) {
			out = append(out, f.partRemoved(d.AssistantMessageID, partIDAfter(d.PartID)))
		}
		return out
	case *session.OutputsPruned:
		var out []Event
		for _, id := range d.PartIDs {
			out = append(out, f.itemEvents(id, at)...)
		}
		return out
	case *session.StepEnded, *session.StepFailed:
		return f.turnEnded(at)
	default:
		return nil
	}
}

// turnStarted announces a turn that has no parts yet.
func (f *Fold) turnStarted() []Event {
	f.stepStarted = len(f.turn.Content) > 0 // otherwise the step-start part is sent with the first part
	empty := *f.turn
	empty.Content, empty.Finish, empty.Cost, empty.Tokens, empty.Error, empty.Time.Completed = nil, "", nil, nil, nil, 0
	out := append(f.pendingError(f.turn.ParentID), f.messageUpdated(assistantInfo(f.Session, &empty)))
	isFirst := f.selectPrompt() && !f.isAnswering
	f.isAnswering = true
	if f.turn.Subtasks {
		return out
	}
	if isFirst {
		out = append(out, f.summaryEvents()...)
	}
	if f.busyRepeated {
		return out
	}
	f.busyRepeated = true
	return append(out, f.statusEvent(State{Type: "busy"}))
}

// selectPrompt makes the prompt that the turn answers the current one. It reports whether this is its first turn.
func (f *Fold) selectPrompt() (first bool) {
	if f.asked != nil && f.asked.ID == f.turn.ParentID {
		return false
	}
	f.asked = nil
	for i, u := range f.prompts {
		if u.ID == f.turn.ParentID {
			f.asked, f.prompts = u, f.prompts[i+1:]
			return true
		}
	}
	return false
}

// summaryEvents announces the changes made for the current prompt. Like OpenCode it does so after each turn, and when
// the first turn after an idle time starts.
func (f *Fold) summaryEvents() []Event {
	if f.asked == nil {
		return f.diffEvents(nil)
	}
	u := userMessage(f.Session, f.asked).Info.(*User)
	u.Summary = summaryOf(f.asked)
	u.fillSelection(f.asked, f.turn)
	return f.diffEvents(u)
}

// diffEvents announces the session and the changes made for the prompt, which may be nil.
func (f *Fold) diffEvents(prompt Info) []Event {
	out := []Event{f.sessionUpdated()}
	if f.diffs != nil || f.Session.Changes == nil || f.Session.Changes.Files == 0 { // else they are not known here
		out = append(out, f.sessionDiff(append([]FileDiff{}, f.diffs...)))
	}
	if prompt != nil {
		out = append(out, f.messageUpdated(prompt))
	}
	return out
}

func (f *Fold) statusEvent(s State) Event {
	f.lastStatus = s.Type
	return Event{Type: "session.status", Properties: Status{f.Session.ID, s}}
}

// itemEvents announces the current state of an item, after the step-start part if it is the turn's first item.
func (f *Fold) itemEvents(id session.PartID, at int64) []Event {
	for n, c := range f.turn.Content {
		if c.ItemID() == id {
			return append(f.stepStartEvents(at), f.partUpdated(itemPart(f.Session.ID, f.turn.ID, n+1, c), at))
		}
	}
	return nil
}

// stepStartEvents announces the step-start part, once per turn.
func (f *Fold) stepStartEvents(at int64) []Event {
	if f.stepStarted {
		return nil
	}
	f.stepStarted = true
	if p := stepStart(f.Session.ID, f.turn); p != nil {
		return []Event{f.partUpdated(p, at)}
	}
	return nil
}

// turnEnded announces the end of the turn.
func (f *Fold) turnEnded(at int64) (out []Event) {
	f.busyRepeated = false
	whole := assistantInfo(f.Session, f.turn)
	// A failure ends with the message. Its session.error waits until the status shows that no retry follows.
	if whole.Error != nil && !isFiltered(f.turn) {
		f.failed, f.failedFor = whole.Error, f.turn.ParentID
		return []Event{f.messageUpdated(whole)}
	}
	if f.turn.Subtasks {
		return f.subtasksEnded(whole)
	}
	// In OpenCode's order: the parts of the step, the message still open, the patch, the completed message.
	out = f.stepStartEvents(at)
	if p := stepFinish(f.Session.ID, f.turn); p != nil {
		out = append(out, f.partUpdated(p, at))
	}
	unended := *whole
	unended.Time.Completed, unended.Error = 0, nil
	out = append(out, f.messageUpdated(&unended))
	if p := patchPart(f.Session, f.turn); p != nil {
		out = append(out, f.partUpdated(p, at))
	}
	out = append(out, f.messageUpdated(whole))
	// OpenCode repeats the message of a filtered answer before its error.
	switch {
	case isFiltered(f.turn):
		out = append(
			out,
			f.messageUpdated(whole),
			Event{Type: "session.error", Properties: Failure{f.Session.ID, whole.Error}},
		)
	case !isDeclined(f.turn): // OpenCode checks once more for further work
		out = append(out, f.statusEvent(State{Type: "busy"}))
	}
	return append(out, f.summaryEvents()...)
}

// subtaskCalled announces the call of a subtask, which has no session yet.
func (f *Fold) subtaskCalled(d *session.ToolCalled) []Event {
	out := f.itemEvents(d.PartID, d.Timestamp)
	for _, e := range out {
		p, isPart := e.Properties.(PartInfo)
		if call, ok := p.Part.(*ToolPart); ok && isPart {
			if s, running := call.State.(*ToolRunning); running {
				s.Title, s.Metadata = "", nil
			}
		}
	}
	return out
}

// subtasksEnded announces the end of a turn for which no model was asked: it has no step, and no files of its own.
func (f *Fold) subtasksEnded(turn *Assistant) []Event {
	return []Event{f.messageUpdated(turn), f.statusEvent(State{Type: "busy"})}
}

// ApplyProgress converts progress of a running call.
func (f *Fold) ApplyProgress(p *session.ToolProgress) []Event {
	out := f.v2Progress(p)
	if IsAnswerOf(f.shell, p.AssistantMessageID) && f.shell.Time.Completed == 0 {
		if text := outputSoFar(p); text != "" {
			return append(out, f.partUpdated(shellCall(f.Session.ID, f.shell, text), p.Timestamp))
		}
		return out
	}
	if f.turn == nil || session.ChangedTurn(p) != f.turn.ID || !f.turn.Apply(p) {
		return out
	}
	return append(out, f.itemEvents(p.PartID, p.Timestamp)...)
}

// ApplyFragment converts a delta of an open item. V1 receives tool arguments only when they are complete.
func (f *Fold) ApplyFragment(g *session.Fragment) []Event {
	out := f.v2Fragment(g)
	if g.Item == session.FragmentToolInput {
		return out
	}
	return append(
		out,
		Event{Type: "message.part.delta", Properties: Delta{g.SessionID, g.MessageID, g.PartID, "text", g.Delta}},
	)
}

// ApplyStatus converts a status of the session. A failure is announced when no further attempt follows, and the end of
// it twice, as in OpenCode.
func (f *Fold) ApplyStatus(s State) []Event {
	if s.Type == "retry" && f.lastStatus == "busy" && !f.busyRepeated {
		f.busyRepeated = true
		return []Event{f.statusEvent(State{Type: "busy"}), f.statusEvent(s)}
	}
	if s.Type != "idle" {
		if s.Type == "busy" && f.lastStatus == "busy" {
			return nil
		}
		return []Event{f.statusEvent(s)}
	}
	f.busyRepeated, f.isAnswering = false, false
	idle := []Event{f.statusEvent(s), {Type: "session.idle", Properties: SessionOnly{f.Session.ID}}}
	out := f.pendingError("")
	if out != nil {
		out = append(out, idle...)
	}
	return append(out, idle...)
}

// pendingError announces the last failure, unless the prompt is tried again.
func (f *Fold) pendingError(tried session.MessageID) (out []Event) {
	if f.failed != nil && (tried == "" || f.failedFor != tried) {
		out = []Event{{Type: "session.error", Properties: Failure{f.Session.ID, f.failed}}}
	}
	f.failed = nil
	return out
}

// DeletedEvent announces the deletion of a session with its last state.
func DeletedEvent(s *session.Session) Event {
	return Event{Type: "session.deleted", Properties: SessionInfo{s.ID, SessionOf(s)}, Durable: true}
}

// copiedMessages announces messages of a fork.
func (f *Fold) copiedMessages(d *session.MessagesCopied) (out []Event) {
	ms, _, err := d.DecodeCopies()
	if err != nil {
		return nil
	}
	for _, m := range ms {
		out = append(out, f.copiedMessage(m)...)
	}
	return out
}

// copiedMessage announces a message of a fork. Those of an import are not announced.
func (f *Fold) copiedMessage(m session.Message) (out []Event) {
	if f.Session.Fork == nil || m == nil {
		return nil
	}
	for _, v := range Render(f.Session, []session.Message{m}, true) {
		out = append(out, f.messageUpdated(v.Info))
		for _, p := range v.Parts {
			out = append(out, f.partUpdated(p, m.Meta().Time.Created))
		}
	}
	return out
}

// shellStarted announces the start of a user command.
func (f *Fold) shellStarted(m *session.Shell) (out []Event) {
	f.shell = m
	for _, v := range shellMessage(f.Session, m) {
		out = append(out, f.messageUpdated(v.Info), f.partUpdated(v.Parts[0], m.Time.Created))
	}
	return out
}

// shellEnded announces the end of a user command.
func (f *Fold) shellEnded(d *session.ShellEnded) []Event {
	if f.shell == nil || f.shell.CallID != d.CallID {
		return nil
	}
	f.shell.Apply(d)
	v := shellMessage(f.Session, f.shell)[1]
	return []Event{f.messageUpdated(v.Info), f.partUpdated(v.Parts[0], d.Timestamp)}
}
