package opencode

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// Fold makes the bus events of one session of the log's, in order. It holds what the events of a turn change: the session,
// the prompts that wait for an answer, and the newest turn. Not safe for concurrent use.
type Fold struct {
	Session *session.Session

	turn    *session.Assistant
	asked   *session.User   // the prompt that it answers
	prompts []*session.User // admitted behind that
	opened  bool            // the start of the turn was told
	shell   *session.Shell  // the newest command of the user's

	told      string // the status
	answering bool   // a turn began since the session rested
	asking    bool   // that the model is asked was told, as busy once more: OpenCode says so before it answers or fails
	failed    *Error // of the last turn, until it is told
	failedFor session.MessageID
	through   int64 // seq up to which all this is known to hold; events up to there are told but change nothing
}

// Rows is where a fold begins: what the rows of a session show, which say what its events up to Through do.
type Rows struct {
	Session *session.Session
	Turn    *session.Assistant // the newest; nil: none
	Asked   *session.User      // the newest promoted prompt; nil: none
	Shell   *session.Shell     // the newest command of the user's; nil: none
	Pending []*session.Input
	Through int64
}

// NewFold begins behind the rows.
func NewFold(r Rows) *Fold {
	f := &Fold{Session: r.Session, turn: r.Turn, asked: r.Asked, shell: r.Shell, through: r.Through}
	for _, in := range r.Pending {
		f.admit(in.TimeCreated, in.ID, in.Prompt)
	}
	f.opened = r.Turn != nil && len(r.Turn.Content) > 0
	return f
}

// Begin is a fold of a session whose first event is still to come.
func Begin() *Fold { return &Fold{Session: &session.Session{}, through: -1} }

// Knows reports whether the fold holds what the event at the seq says.
func (f *Fold) Knows(seq int64) bool { return seq <= f.through }

// Lacks reports whether the fold holds another turn than the one asked for: then it begins anew behind rows that have it.
func (f *Fold) Lacks(turn session.MessageID) bool {
	return turn != "" && (f.turn == nil || f.turn.ID != turn) && !Answers(f.shell, turn)
}

func (f *Fold) admit(at int64, id session.MessageID, p session.Prompt) *session.User {
	d := &session.Prompted{Fact: session.Fact{Timestamp: at}, MessageID: id, Prompt: p}
	u, _ := session.Begin(d, 0).(*session.User)
	known := func(o *session.User) bool { return o.ID == id }
	if slices.ContainsFunc(f.prompts, known) || f.asked != nil && known(f.asked) {
		return u
	}
	f.prompts = append(f.prompts, u)
	return u
}

// Event folds one event and returns what the bus says of it.
func (f *Fold) Event(e *session.Event) []Event {
	fresh := e.Seq > f.through
	if fresh {
		f.through = e.Seq
	}
	before := *f.Session
	if fresh {
		f.Session.Apply(e.Data)
	}
	next := f.next(e)
	if out, ok := f.lifeOf(e.Data, &before); ok {
		return append(next, out...)
	}
	if m, ok := session.Begin(e.Data, e.Seq).(*session.Assistant); ok && fresh {
		f.turn = m
	}
	if f.turn == nil || session.ChangedTurn(e.Data) != f.turn.ID && !f.starts(e.Data) {
		return append(next, f.besides(e.Data)...)
	}
	if fresh {
		f.turn.Apply(e.Data)
	}
	return append(next, f.step(e.Data)...)
}

// starts reports whether the event begins the turn at hand.
func (f *Fold) starts(d session.EventData) bool {
	s, ok := d.(*session.StepStarted)
	return ok && f.turn.ID == s.AssistantMessageID
}

// lifeOf tells of the session itself and of what is put to it; ok is false for events of other kinds.
func (f *Fold) lifeOf(d session.EventData, before *session.Session) (out []Event, ok bool) {
	switch d := d.(type) {
	case *session.Created:
		return []Event{{Type: "session.created", Properties: SessionInfo{f.Session.ID, SessionOf(f.Session)}, Durable: true}}, true
	case *session.Renamed, *session.Archived, *session.Imported, *session.PermissionSet, *session.MetadataSet, *session.AgentSwitched, *session.ModelSwitched, *session.Moved,
		*session.RevertStaged, *session.RevertCleared:
		return []Event{f.updated()}, true
	case *session.PromptAdmitted:
		if before.Agent != f.Session.Agent || !sameModel(before.Model, f.Session.Model) {
			out = append(out, f.updated())
		}
		u := f.admit(d.Timestamp, d.MessageID, d.Prompt)
		return append(append(out, f.prompt(u, d.Timestamp)...), f.updated()), true
	case *session.InputWithdrawn:
		return []Event{f.removed(d.MessageID)}, true
	case *session.MessageRemoved:
		if d.AnswerID != "" {
			out = append(out, f.removed(d.AnswerID))
		}
		return append(out, f.removed(d.MessageID)), true
	case *session.InputEdited:
		return f.edited(d.MessageID, "", d.Prompt, d.Timestamp), true
	case *session.MessageEdited:
		return f.edited(d.MessageID, d.PartID, d.Prompt, d.Timestamp), true
	case *session.TodosSet:
		return []Event{{Type: "todo.updated", Properties: Todos{f.Session.ID, d.Todos}}}, true
	case *session.PermissionAsked:
		if d.Ask.IsQuestion() {
			return []Event{{Type: "question.asked", Properties: QuestionOf(f.Session.ID, d.Ask)}}, true
		}
		return []Event{{Type: "permission.asked", Properties: PermissionOf(f.Session.ID, d.Ask)}}, true
	case *session.PermissionReplied:
		return []Event{replied(f.Session.ID, d)}, true
	default:
		return nil, false
	}
}

func (f *Fold) removed(m session.MessageID) Event {
	return Event{Type: "message.removed", Properties: MessageGone{f.Session.ID, m}, Durable: true}
}

func sameModel(a, b *session.ModelRef) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

func (f *Fold) updated() Event {
	return Event{Type: "session.updated", Properties: SessionInfo{f.Session.ID, SessionOf(f.Session)}, Durable: true}
}

// prompt tells of a new prompt with its parts.
func (f *Fold) prompt(u *session.User, at int64) []Event {
	m := prompted(f.Session, u)
	out := []Event{f.message(m.Info)}
	for _, p := range m.Parts {
		out = append(out, f.part(p, at))
	}
	return out
}

func (f *Fold) message(i Info) Event {
	return Event{Type: "message.updated", Properties: MessageInfo{f.Session.ID, i}, Durable: true}
}

func (f *Fold) part(p Part, at int64) Event {
	return Event{Type: "message.part.updated", Properties: PartInfo{f.Session.ID, p, at}, Durable: true}
}

// besides tells of what stands beside the turns.
func (f *Fold) besides(d session.EventData) []Event {
	switch d := d.(type) {
	case *session.SyntheticAdded:
		m := synthetic(f.Session, session.Begin(d, 0).(*session.Synthetic))
		return []Event{f.message(m.Info), f.part(m.Parts[0], d.Timestamp)}
	case *session.ShellStarted:
		return f.shellStarted(session.Begin(d, 0).(*session.Shell))
	case *session.ShellEnded:
		return f.shellEnded(d)
	case *session.Interrupted:
		f.failed, f.failedFor = Failed(&d.Error, ""), ""
		return nil
	default:
		return nil
	}
}

// step tells what the event changed in the turn at hand.
func (f *Fold) step(d session.EventData) []Event {
	at := d.Stamp().Timestamp
	switch d := d.(type) {
	case *session.StepStarted:
		return f.started()
	case *session.TextStarted:
		return f.item(d.PartID, at)
	case *session.TextEnded:
		return f.item(d.PartID, at)
	case *session.ReasoningStarted:
		return f.item(d.PartID, at)
	case *session.ReasoningEnded:
		return f.item(d.PartID, at)
	case *session.ToolInputStarted:
		return f.item(d.PartID, at)
	case *session.ToolCalled:
		return f.item(d.PartID, at)
	case *session.ToolProgress:
		return f.item(d.PartID, at)
	case *session.ToolSuccess:
		return append(f.changes(d), f.item(d.PartID, at)...)
	case *session.ToolFailed:
		return f.item(d.PartID, at)
	case *session.PartEdited:
		return f.item(d.PartID, at)
	case *session.PartRemoved:
		return []Event{f.gone(d.AssistantMessageID, d.PartID)}
	case *session.StepEnded, *session.StepFailed:
		return f.ended(at)
	default:
		return nil
	}
}

// started tells of a turn that begins, as yet without parts.
func (f *Fold) started() []Event {
	f.opened = len(f.turn.Content) > 0 // else with its first part
	empty := *f.turn
	empty.Content, empty.Finish, empty.Cost, empty.Tokens, empty.Error, empty.Time.Completed = nil, "", nil, nil, nil, 0
	out := append(f.fault(f.turn.ParentID), f.message(assistant(f.Session, &empty)))
	if f.answer() && !f.answering {
		out = append(out, f.summed()...)
	}
	f.answering = true
	if f.asking {
		return out
	}
	f.asking = true
	return append(out, f.status(State{Type: "busy"}))
}

// answer takes the prompt that the turn answers for the one at hand. It reports whether this is the first turn to do so.
func (f *Fold) answer() (first bool) {
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

// summed tells what the answers to a prompt changed so far, again and again, as OpenCode does: behind each turn, and where the
// first of them begins after a rest.
func (f *Fold) summed() []Event {
	out := []Event{f.updated(), {Type: "session.diff", Properties: Diff{f.Session.ID, []FileDiff{}}}}
	if f.asked != nil {
		u := prompted(f.Session, f.asked).Info.(*User)
		u.Summary = &UserSummary{Diffs: []FileDiff{}}
		out = append(out, f.message(u))
	}
	return out
}

func (f *Fold) status(s State) Event {
	f.told = s.Type
	return Event{Type: "session.status", Properties: Status{f.Session.ID, s}}
}

// item tells of the item as it is now, after the start of the turn if it is the first.
func (f *Fold) item(id session.PartID, at int64) []Event {
	for n, c := range f.turn.Content {
		if c.ItemID() == id {
			return append(f.opening(at), f.part(itemPart(f.Session.ID, f.turn.ID, n+1, c), at))
		}
	}
	return nil
}

// opening tells of the start of the turn as a part, once.
func (f *Fold) opening(at int64) []Event {
	if f.opened {
		return nil
	}
	f.opened = true
	if p := stepStart(f.Session.ID, f.turn); p != nil {
		return []Event{f.part(p, at)}
	}
	return nil
}

// ended tells how the turn ended.
func (f *Fold) ended(at int64) (out []Event) {
	f.asking = false
	whole := assistant(f.Session, f.turn)
	if whole.Error != nil && !filtered(f.turn) {
		f.failed, f.failedFor = whole.Error, f.turn.ParentID
		return []Event{f.message(whole)}
	}
	out = f.opening(at)
	if p := stepFinish(f.Session.ID, f.turn); p != nil {
		out = append(out, f.part(p, at))
	}
	unended := *whole
	unended.Time.Completed, unended.Error = 0, nil
	out = append(out, f.message(&unended))
	if p := patch(f.Session.ID, f.turn); p != nil {
		out = append(out, f.part(p, at))
	}
	out = append(out, f.message(whole))
	switch {
	case filtered(f.turn):
		out = append(out, f.message(whole), Event{Type: "session.error", Properties: Failure{f.Session.ID, whole.Error}})
	case !declined(f.turn): // OpenCode looks once more whether something follows
		out = append(out, f.status(State{Type: "busy"}))
	}
	return append(out, f.summed()...)
}

// Progress tells of a running call as it comes along.
func (f *Fold) Progress(p *session.ToolProgress) []Event {
	out := f.nextProgress(p)
	if Answers(f.shell, p.AssistantMessageID) && f.shell.Time.Completed == 0 {
		if text := soFar(p); text != "" {
			return append(out, f.part(shellCall(f.Session.ID, f.shell, text), p.Timestamp))
		}
		return out
	}
	if f.turn == nil || session.ChangedTurn(p) != f.turn.ID || !f.turn.Apply(p) {
		return out
	}
	return append(out, f.item(p.PartID, p.Timestamp)...)
}

// Fragment tells what an open item gained. Of arguments V1 is told only when they are whole.
func (f *Fold) Fragment(g *session.Fragment) []Event {
	out := f.nextFragment(g)
	if g.Item == session.FragmentToolInput {
		return out
	}
	return append(out, Event{Type: "message.part.delta", Properties: Delta{g.SessionID, g.MessageID, g.PartID, "text", g.Delta}})
}

// Status tells what the session is doing now. A failure is told when nothing follows it, and its end twice.
func (f *Fold) Status(s State) []Event {
	if s.Type == "retry" && f.told == "busy" && !f.asking {
		f.asking = true
		return []Event{f.status(State{Type: "busy"}), f.status(s)}
	}
	if s.Type != "idle" {
		if s.Type == "busy" && f.told == "busy" {
			return nil
		}
		return []Event{f.status(s)}
	}
	f.asking, f.answering = false, false
	idle := []Event{f.status(s), {Type: "session.idle", Properties: SessionOnly{f.Session.ID}}}
	out := f.fault("")
	if out != nil {
		out = append(out, idle...)
	}
	return append(out, idle...)
}

// fault tells of the last failure, unless the prompt is tried again.
func (f *Fold) fault(tried session.MessageID) (out []Event) {
	if f.failed != nil && (tried == "" || f.failedFor != tried) {
		out = []Event{{Type: "session.error", Properties: Failure{f.Session.ID, f.failed}}}
	}
	f.failed = nil
	return out
}

// Deleted tells that a session is gone, as it was.
func Deleted(s *session.Session) Event {
	return Event{Type: "session.deleted", Properties: SessionInfo{s.ID, SessionOf(s)}, Durable: true}
}
