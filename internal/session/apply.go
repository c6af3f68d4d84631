package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The meaning of events is defined here only, by three folds: Session.Apply for the session's row, Begin for the
// messages that events append, and Assistant.Apply for the turn that an event changes (checkpoint.go has the
// checkpoints). All are total: an event that does not fit the state (late, repeated, of a missing item) changes
// nothing, so that every log can be folded.

var (
	emptyObject = jsontext.Value(`{}`)
	emptyText   = jsontext.Value(`""`)
)

// Apply applies the event to the session's row. It reports whether anything changed.
func (s *Session) Apply(d EventData) bool {
	at := d.Stamp().Timestamp
	// What is created, named and archived, then usage and jobs, prompts, edits and imports.
	switch e := d.(type) {
	// Cases that return true leave Time.Updated as it is.
	case *Created:
		*s = e.Info
		return true
	case *Renamed:
		if e.By == "auto" && s.TitledBy == "user" {
			return false
		}
		s.Title, s.TitledBy = e.Title, e.By
		return true // a rename, an archive or a tag does not change Time.Updated
	case *Summarized:
		return s.applySummary(e)
	case *Archived:
		s.Time.Archived = e.At
		return true
	case *Shared:
		s.Share = e.Share
		return true
	case *Tagged:
		s.Tags = e.Tags
		return true
	case *StepEnded:
		s.addCost(e.Cost, e.Tokens)
	case *StepFailed:
		s.Cost += e.Cost
		if e.Tokens != nil {
			s.Tokens = s.Tokens.Add(*e.Tokens)
		}
	case *Retried:
		if !s.applyRetry(e) {
			return false
		}
	case *JobStarted:
		s.startJob(e)
	case *JobEnded:
		if !s.endJob(e) {
			return false
		}
	case *PromptAdmitted:
	case *Prompted:
		if e.Prompt.Agent != "" {
			s.Agent = e.Prompt.Agent
		}
		if e.Prompt.Model != nil {
			s.selectModel(*e.Prompt.Model)
		}
	case *MessageRemoved, *MessageEdited, *PartRemoved, *PartEdited:
		s.Edits++
		return true
	case *ContextEntrySet:
		if changed := s.setEntry(e.ContextEntry); !changed || e.Key == KeySharedFiles { // another session's work
			return changed
		}
	case *Imported:
		s.completeImport(e)
		return true
	case *StepStarted:
		if s.Changes != nil {
			return false
		}
		s.Changes = &Changes{}
	default:
		if !s.applySetting(d) && !s.applyContext(d) && !s.applyCompaction(d) && !s.applyRevert(d) {
			return false
		}
	}
	s.Time.Updated = max(s.Time.Updated, at)
	return true
}

// applySetting applies the event if it sets what a client or the model has chosen. It reports whether it does.
func (s *Session) applySetting(d EventData) bool {
	switch e := d.(type) {
	case *PermissionSet:
		s.Permission = e.Rules
	case *BudgetSet:
		s.Budget = e.Budget
	case *TodosSet:
		s.Todos = e.Todos
	case *MetadataSet:
		s.Metadata = e.Metadata
	case *AgentSwitched:
		s.Agent = e.Agent
	case *ModelSwitched:
		s.selectModel(e.Model)
	case *Moved:
		s.Location, s.Subpath = e.Location, e.Subdirectory
		s.ProjectID, s.RecordID = cmp.Or(e.ProjectID, s.ProjectID), cmp.Or(e.RecordID, s.RecordID)
	default:
		return false
	}
	return true
}

// ChangesSession reports whether the event changes what a client shows of a session itself: its title, summary, archive
// time, share, tags, rules, metadata, agent, model or location. Both APIs then announce the session as it is now. Changes
// with an announcement of their own, such as costs (by the turn), todos and reverts, do not count.
func ChangesSession(d EventData) bool {
	switch d.(type) {
	case *Renamed, *Summarized, *Archived, *Shared, *Tagged, *Imported, *PermissionSet, *MetadataSet, *AgentSwitched,
		*ModelSwitched, *Moved:
		return true
	default:
		return false
	}
}

// applyRevert applies an event about what the session changed, and about its revert. It reports whether the event is
// one and changed something.
func (s *Session) applyRevert(d EventData) bool {
	switch e := d.(type) {
	case *DiffUpdated:
		s.Changes = &e.Total
	case *RevertStaged:
		s.Revert = &e.Revert
	case *RevertAdvanced:
		if s.Revert == nil {
			return false
		}
		next := *s.Revert
		next.Phase = e.Phase
		next.keepAll(e.Kept)
		s.Revert = &next
		s.Changes = cmp.Or(e.Total, s.Changes)
	case *RevertCleared:
		s.Revert = nil
		s.Changes = cmp.Or(e.Total, s.Changes)
	case *RevertCommitted:
		s.Revert = nil
		s.Edits++
	default:
		return false
	}
	return true
}

// applySummary charges the request, and replaces the summary. Like a new title it does not change Time.Updated.
func (s *Session) applySummary(e *Summarized) bool {
	s.addRequest(e.Request)
	switch {
	case e.Generated && (e.Text == "" || s.HasOwnSummary()):
		return e.Request != nil
	case e.Text == "":
		s.Summary = nil
	default:
		s.Summary = new(e.ProseSummary)
	}
	return true
}

// applyRetry charges a failed attempt without a message, and leaves out the content that it blames.
func (s *Session) applyRetry(e *Retried) bool {
	s.addRequest(e.Request)
	if e.Exclude != nil {
		s.Excluded = append(slices.DeleteFunc(slices.Clone(s.Excluded), e.Exclude.isSupersetOf), *e.Exclude)
	}
	return e.Request != nil || e.Exclude != nil
}

// completeImport makes a completely imported session visible.
func (s *Session) completeImport(e *Imported) {
	s.Time.Archived, s.Time.Updated = e.Archived, e.Updated
	if l := e.Log; l != nil { // the whole log came at once, with what an earlier import left in it
		s.Location, s.ProjectID, s.RecordID = l.Location, l.ProjectID, l.RecordID
		s.Subpath, s.Sandbox = l.Subpath, l.Sandbox
		s.Share = nil       // this store does not share it
		s.Ephemeral = false // the command that would delete it is elsewhere
		if l.Detached {
			s.ParentID = ""
		}
		return
	}
	s.Title = cmp.Or(e.Title, s.Title)
	if at := e.Source; at != nil {
		s.Agent, s.Model, s.Cost, s.Tokens = at.Agent, at.Model, at.Cost, at.Tokens
		s.Todos, s.Revert = at.Todos, at.Revert
	}
	if s.Import != nil {
		whole := *s.Import
		whole.Whole = true
		if e.Hash != "" {
			whole.Hash, whole.Messages = e.Hash, e.Messages
		}
		s.Import = &whole
	}
}

// setEntry sets an entry of the system context, or removes it if it has no value. It reports whether that changed
// something.
func (s *Session) setEntry(e ContextEntry) bool {
	at, found := s.FindEntry(e.Key)
	next := slices.Clone(s.Entries)
	switch {
	case len(e.Value) == 0 && !found:
		return false
	case len(e.Value) == 0:
		next = slices.Delete(next, at, at+1)
	case found:
		next[at] = e
	default:
		next = slices.Insert(next, at, e)
	}
	s.Entries = next
	return true
}

// applyContext applies an event about the sources of the session's system context. It reports whether the event is one
// and changed something.
func (s *Session) applyContext(d EventData) bool {
	switch e := d.(type) {
	case *InstructionDiscovered:
		if len(s.Nested) >= MaxNested || s.HasNested(e.Path) {
			return false
		}
		s.Nested = append(slices.Clip(s.Nested), e.NestedInstruction)
	default:
		return false
	}
	return true
}

// Begin returns the message that the event appends, nil if it appends none. Its Seq is the event's.
func Begin(d EventData, seq int64) Message {
	f := d.Stamp()
	head := func(id MessageID, t MessageType) Head {
		return Head{ID: id, Type: t, Time: MessageTime{Created: f.Timestamp}, Seq: seq}
	}
	// One case for each type of message; other events append no message.
	switch e := d.(type) {
	case *Prompted:
		return &User{
			Head: head(e.MessageID, TypeUser), Text: e.Prompt.Text, Files: e.Prompt.Files, Agents: e.Prompt.Agents,
			Agent: e.Prompt.Agent, Model: e.Prompt.Model, Parts: e.Prompt.Parts, Format: e.Prompt.Format,
			System: e.Prompt.System, Subtasks: e.Prompt.Subtasks, NoReply: e.NoReply, Extensions: e.Extensions,
		}
	case *SyntheticAdded:
		s := &Synthetic{Head: head(e.MessageID, TypeSynthetic), SessionID: f.SessionID, Text: e.Text}
		s.Metadata = e.Metadata
		return s
	case *ContextUpdated:
		return &System{Head: head(e.MessageID, TypeSystem), Text: e.Text}
	case *ShellStarted:
		return &Shell{Head: head(e.MessageID, TypeShell), CallID: e.CallID, Command: e.Command, ShellAs: e.ShellAs}
	case *AgentSwitched:
		return &AgentSwitch{Head: head(e.MessageID, TypeAgentSwitch), Agent: e.Agent}
	case *ModelSwitched:
		return &ModelSwitch{Head: head(e.MessageID, TypeModelSwitch), Model: e.Model}
	case *CompactionEnded:
		return e.beginMessage(head(e.MessageID, TypeCompaction))
	case *StepStarted:
		a := &Assistant{
			Head: head(e.AssistantMessageID, TypeAssistant), Agent: e.Agent, Model: e.Model, Content: []Content{},
			ParentID: e.ParentID, StartID: e.StartID, Prefix: e.Prefix, Altered: e.Altered, Subtasks: e.Subtasks,
		}
		if e.Snapshot != "" {
			a.Snapshot = &StepSnapshot{Start: e.Snapshot}
		}
		return a
	case *MessageImported:
		m, err := DecodeMessage(e.Message)
		if err != nil {
			return nil
		}
		m.Meta().Seq = seq
		return m
	default:
		return nil
	}
}

// Apply applies the event to the turn. It reports whether anything changed; events of other turns change nothing.
func (a *Assistant) Apply(d EventData) bool {
	if ChangedTurn(d) != a.ID {
		return false
	}
	at := d.Stamp().Timestamp
	// The end of the turn first, then its items as they start and end, then later edits.
	switch e := d.(type) {
	case *StepEnded:
		return a.applyEnd(e)
	case *StepFailed:
		return a.applyFailure(e)
	case *TextStarted:
		return a.addItem(e.PartID, &Text{Type: "text", ID: e.TextID, PartID: e.PartID, Time: &ItemTime{Created: at}})
	case *TextEnded:
		t, ok := a.Item(e.PartID).(*Text)
		if !ok || t.Time.hasEnded() {
			return false
		}
		t.Text, t.Partial, t.Metadata, t.Replaced = e.Text, e.Partial, e.ProviderMetadata, e.Replaced
		t.Time = t.Time.endAt(at)
		return true
	case *ReasoningStarted:
		return a.addItem(e.PartID, &Reasoning{
			Type: "reasoning", ID: e.ReasoningID, PartID: e.PartID, Metadata: e.ProviderMetadata, Time: &ItemTime{
				Created: at,
			},
		})
	case *ReasoningEnded:
		r, ok := a.Item(e.PartID).(*Reasoning)
		if !ok || r.Time.hasEnded() {
			return false
		}
		r.Text, r.Partial = e.Text, e.Partial
		if len(e.ProviderMetadata) > 0 {
			r.Metadata = e.ProviderMetadata
		}
		r.Time = r.Time.endAt(at)
		return true
	case *ToolInputStarted:
		return a.addItem(e.PartID, &Tool{
			Type: "tool", ID: e.CallID, PartID: e.PartID, Name: e.Name,
			State: ToolState{Status: ToolPending, Input: emptyText}, Time: ToolTime{Created: at},
		})
	case *ItemCheckpointed:
		return a.Checkpoint(e)
	case *PartRemoved, *PartEdited:
		return a.applyEdit(d)
	case *OutputsPruned:
		return a.applyPrune(e)
	default:
		return a.applyToolEvent(d)
	}
}

func (a *Assistant) applyToolEvent(d EventData) bool {
	at := d.Stamp().Timestamp
	// In the order of a call. changeTool ignores an event for a call in another state.
	switch e := d.(type) {
	case *ToolInputEnded:
		return changeTool(a, e.PartID, ToolPending, func(t *Tool) { t.State.Input = quoteText(e.Text) })
	case *ToolCalled:
		return changeTool(a, e.PartID, ToolPending, func(t *Tool) {
			t.Name = e.Tool
			t.Provider = &ToolProvider{Executed: e.Provider.Executed, Metadata: e.Provider.Metadata}
			t.State = ToolState{Status: ToolRunning, Input: e.Input, Structured: emptyObject, Content: []ToolContent{}}
			t.Time.Ran, t.Extensions = at, e.Extensions
		})
	case *ToolProgress:
		return changeTool(a, e.PartID, ToolRunning, func(t *Tool) {
			t.State.Structured, t.State.Content = objectOr(e.Structured), listOr(e.Content)
			if e.Title != "" {
				t.State.Title = e.Title
			}
		})
	case *ToolSuccess:
		return changeTool(a, e.PartID, ToolRunning, func(t *Tool) {
			t.settle(ToolCompleted, e.Provider, at)
			t.Time.Waited, t.Replaced, t.EnvironmentBy = e.Waited, e.Replaced, e.EnvironmentBy
			t.State.Structured, t.State.Content = objectOr(e.Structured), listOr(e.Content)
			t.State.OutputPaths, t.State.Result, t.State.Attachments = e.OutputPaths, e.Result, e.Attachments
			if e.Title != "" {
				t.State.Title = e.Title
			}
		})
	case *ToolFailed:
		return changeTool(a, e.PartID, "", func(t *Tool) {
			// The input of a call that never ran may be incomplete text.
			if t.State.Status == ToolPending {
				t.State.Input = emptyObject
			}
			t.settle(ToolError, e.Provider, at)
			t.Time.Waited, t.EnvironmentBy = e.Waited, e.EnvironmentBy
			if len(e.Structured) > 0 {
				t.State.Structured = e.Structured
			}
			t.State.Structured, t.State.Content = objectOr(t.State.Structured), listOr(t.State.Content)
			t.State.Error, t.State.Result = &e.Error, e.Result
		})
	default:
		return false
	}
}

func (t *Tool) settle(to ToolStatus, p CallProvider, at int64) {
	t.State.Status, t.Time.Completed = to, at
	if t.Provider == nil {
		t.Provider = &ToolProvider{}
	}
	t.Provider.Executed = t.Provider.Executed || p.Executed
	if len(p.Metadata) > 0 {
		t.Provider.ResultMetadata = p.Metadata
	}
}

func (a *Assistant) applyEnd(e *StepEnded) bool {
	if !a.Open() {
		return false
	}
	a.Time.Completed, a.Finish, a.Cost, a.Tokens = e.Timestamp, e.Finish, &e.Cost, &e.Tokens
	a.EndID, a.Structured = e.EndID, e.Structured
	if e.Snapshot != "" || e.Files != nil {
		if a.Snapshot == nil {
			a.Snapshot = &StepSnapshot{}
		}
		a.Snapshot.End, a.Snapshot.Files = e.Snapshot, e.Files
		if e.Before != "" {
			a.Snapshot.Start = e.Before
		}
	}
	return true
}

func (a *Assistant) applyFailure(e *StepFailed) bool {
	if !a.Open() {
		return false
	}
	a.Time.Completed, a.Finish, a.Error = e.Timestamp, "error", &e.Error
	a.EndID = e.EndID
	if e.Tokens != nil {
		a.Cost, a.Tokens = &e.Cost, e.Tokens
	}
	return true
}

// hasEnded reports whether the item has ended. Items without a time, from older logs, never end.
func (t *ItemTime) hasEnded() bool { return t != nil && t.Completed != 0 }

// endAt returns the item's time with its end.
func (t *ItemTime) endAt(at int64) *ItemTime {
	if t == nil {
		return nil
	}
	return &ItemTime{Created: t.Created, Completed: at}
}

// RawInput returns the argument text of a pending call, "" for a call in a later status.
func (t *Tool) RawInput() string {
	var s string
	if t.State.Status != ToolPending || json.Unmarshal(t.State.Input, &s) != nil {
		return ""
	}
	return s
}

func (a *Assistant) addItem(id PartID, c Content) bool {
	if !a.Open() || a.Item(id) != nil {
		return false
	}
	a.Content = append(a.Content, c)
	return true
}

// changeTool changes the call if its status is from, or, with from "", if it is not settled.
func changeTool(a *Assistant, id PartID, from ToolStatus, f func(*Tool)) bool {
	t, ok := a.Item(id).(*Tool)
	if !ok || t.State.Status.IsSettled() || (from != "" && t.State.Status != from) {
		return false
	}
	f(t)
	return true
}

func quoteText(s string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8, from a log that cairn did not write
		return emptyText
	}
	return v
}

func objectOr(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return emptyObject
	}
	return v
}

func listOr(c []ToolContent) []ToolContent {
	if c == nil {
		return []ToolContent{}
	}
	return c
}

// Describe returns a short name of the event for logs and traces.
func (e Event) Describe() string { return fmt.Sprintf("%s#%d %s", e.SessionID, e.Seq, e.Data.Kind()) }

// progressShare is the part of the size before that a compaction must save to count as progress, as a divisor.
const progressShare = 5

// hasProgress reports whether the compaction made the next request smaller by at least a fifth.
func (e *CompactionEnded) hasProgress() bool {
	return e.Before-e.After >= e.Before/progressShare && e.After < e.Before
}

// beginMessage returns the message that the event appends.
func (e *CompactionEnded) beginMessage(h Head) *Compaction {
	return &Compaction{
		Head: h, Reason: e.Reason, Summary: e.Text, Recent: e.Recent, Record: e.Record, Kept: e.Kept,
		Before: e.Before, After: e.After, Request: e.Request, SummaryAs: e.SummaryAs,
	}
}

// applyCompaction applies an event of a compaction to the session's row: the compaction under way, the count of
// automatic compactions without progress, and the cost. A requested compaction never adds to the count: it may be of a
// short history. It reports whether the event is one and changed something.
func (s *Session) applyCompaction(d EventData) bool {
	switch e := d.(type) {
	case *CompactionStarted:
		s.Compacting = e
	case *CompactionEnded:
		s.Compacting = nil
		s.addRequest(e.Request)
		if e.hasProgress() {
			s.Stalled = 0
		} else if e.Reason == CompactionAuto {
			s.Stalled++
		}
	case *CompactionFailed:
		s.Compacting = nil
		s.addRequest(e.Request)
		useless := e.Error.Reason == ReasonSummary || e.Error.Reason == ReasonOverflow
		if useless && e.Reason == CompactionAuto {
			s.Stalled++
		}
	case *CompactionUndone, *OutputsPruned:
		s.Edits++
	default:
		return false
	}
	return true
}

// selectModel selects the model. Another one has another window, which compactions may be able to serve.
func (s *Session) selectModel(m ModelRef) {
	if s.Model == nil || s.Model.ID != m.ID || s.Model.ProviderID != m.ProviderID {
		s.Stalled = 0
	}
	s.Model = &m
}

// addRequest adds the cost of a request; nil cost nothing.
func (s *Session) addRequest(r *RequestCost) {
	if r != nil {
		s.addCost(r.Cost, r.Tokens)
	}
}

// addCost adds the cost of a turn.
func (s *Session) addCost(cost USD, t Tokens) {
	s.Cost += cost
	s.Tokens = s.Tokens.Add(t)
}

// applyPrune hides the outputs of the calls from the model.
func (a *Assistant) applyPrune(e *OutputsPruned) (changed bool) {
	for i, id := range e.PartIDs {
		t, ok := a.Item(id).(*Tool)
		if !ok || t.Time.Pruned != 0 {
			continue
		}
		t.Time.Pruned, changed = e.Timestamp, true
		if i < len(e.Paths) && e.Paths[i] != "" {
			t.State.OutputPaths = append(t.State.OutputPaths[:len(t.State.OutputPaths):len(t.State.OutputPaths)], e.Paths[i])
		}
	}
	return changed
}

// Apply completes the command.
func (s *Shell) Apply(e *ShellEnded) {
	s.Output, s.ShellEnd, s.Time.Completed = e.Output, e.ShellEnd, e.Timestamp
}
