package opencode

import "github.com/cairn-dev/cairn/internal/session"

// compactionEvents converts events of compactions; ok is false for other events.
func (f *Fold) compactionEvents(d session.EventData) (out []Event, ok bool) {
	switch d := d.(type) {
	case *session.CompactionAdmitted:
		return f.announceRequest(requestMessage(f.Session, d.Timestamp, d.MessageID, d.Request), d.Timestamp), true
	case *session.CompactionStarted:
		return f.compactionStarted(d), true
	case *session.CompactionEnded:
		return f.compactionEnded(d), true
	case *session.CompactionFailed:
		return f.compactionFailed(d), true
	case *session.CompactionUndone:
		return []Event{f.messageRemoved(d.MessageID), f.messageRemoved(d.RequestID)}, true
	default:
		return nil, false
	}
}

// announceRequest announces a request for a summary, once.
func (f *Fold) announceRequest(v Message, at int64) []Event {
	id, _ := IDAndTime(v.Info)
	if f.requests[id] {
		return nil
	}
	if f.requests == nil {
		f.requests = map[session.MessageID]bool{}
	}
	f.requests[id] = true
	return []Event{f.messageUpdated(v.Info), f.partUpdated(v.Parts[0], at)}
}

// compactionStarted announces the request, unless it was in the inbox, and the summary that is empty still.
func (f *Fold) compactionStarted(d *session.CompactionStarted) []Event {
	pair := compactionMessages(f.Session, openCompaction(d), nil)
	out := append(f.pendingError(""), f.announceRequest(pair[0], d.Timestamp)...)
	delete(f.requests, d.RequestID)
	out = append(out, f.messageUpdated(pair[1].Info), f.sessionUpdated())
	if !f.busyRepeated {
		f.busyRepeated = true
		out = append(out, f.statusEvent(State{Type: "busy"}))
	}
	for _, p := range pair[1].Parts {
		out = append(out, f.partUpdated(p, d.Timestamp))
	}
	return out
}

// compactionEnded announces the summary. If the work goes on, the synthetic message that follows completes it.
func (f *Fold) compactionEnded(d *session.CompactionEnded) []Event {
	f.busyRepeated, f.isAnswering = false, f.isAnswering || d.Continue
	m := withCompletion(session.Begin(d, 0).(*session.Compaction))
	pair := compactionMessages(f.Session, m, nil)
	unended := *pair[1].Info.(*Assistant)
	unended.Time.Completed = 0
	out := []Event{
		f.partUpdated(pair[1].Parts[1], d.Timestamp), f.partUpdated(pair[1].Parts[2], d.Timestamp),
		f.messageUpdated(&unended), f.messageUpdated(pair[1].Info),
	}
	if m.Kept.MessageID != "" {
		out = append(out, f.partUpdated(pair[0].Parts[0], d.Timestamp))
	}
	if !d.Continue {
		out = append(out, f.announceCompacted()...)
	}
	return append(out, f.diffEvents(pair[0].Info)...)
}

// announceCompacted announces that the history is replaced, and that OpenCode checks for further work.
func (f *Fold) announceCompacted() []Event {
	return []Event{
		{Type: "session.compacted", Properties: SessionOnly{f.Session.ID}}, f.statusEvent(State{Type: "busy"}),
	}
}

func (f *Fold) compactionFailed(d *session.CompactionFailed) []Event {
	m := &session.Compaction{
		Head: session.Head{ID: d.MessageID, Time: session.MessageTime{Created: d.Timestamp}}, Reason: d.Reason,
		Request: d.Request, SummaryAs: d.SummaryAs,
	}
	answer := compactionMessages(f.Session, withCompletion(m), &d.Error)[1].Info.(*Assistant)
	f.busyRepeated, f.failed, f.failedFor = false, answer.Error, d.RequestID
	return []Event{f.messageUpdated(answer), f.sessionUpdated()}
}

// syntheticAdded announces a message that the system wrote: what the next turns answer.
func (f *Fold) syntheticAdded(d *session.SyntheticAdded) []Event {
	m := session.Begin(d, 0).(*session.Synthetic)
	v := syntheticMessage(f.Session, m)
	out := []Event{f.messageUpdated(v.Info), f.partUpdated(v.Parts[0], d.Timestamp)}
	f.prompts = append([]*session.User{SyntheticPrompt(m)}, f.prompts...)
	if !continuesWork(m) {
		return out
	}
	return append(out, f.announceCompacted()...)
}
