package eventlog

import (
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// hub is the state that the readers of one process share: waiting readers, open items and the newest events. The
// store remains the truth; the recent events only save reads.
type hub struct {
	mu       sync.Mutex // guards everything below
	sessions map[session.ID]*liveSession
	feed     map[*waiter]struct{}
	commits  map[*waiter]struct{} // signalled by commits only
	position int64
	notices  []queuedNotice // the newest maxNotices, the last one being number noticed
	notice   int64
}

// queuedNotice is a notice with the position of the newest event before it.
type queuedNotice struct {
	Notice
	position int64
}

// liveSession is a session that has readers or open items.
type liveSession struct {
	head    int64
	waiters map[*waiter]struct{}
	items   []*openItem     // in order of their start
	recent  []session.Event // at most maxRecent, contiguous; kept only while there are readers
}

// openItem is an open text, reasoning or argument stream.
type openItem struct {
	fragment session.Fragment // all but Offset and Delta
	started  int64            // seq of the starting event
	position int64            // and its position
	text     []byte
}

// waiter is the dirty flag of one reader. Its channel has capacity 1, so that wake-ups coalesce and never block.
type waiter struct{ wake chan struct{} }

func newWaiter() *waiter { return &waiter{make(chan struct{}, 1)} }

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

const (
	maxRecent  = 64
	maxNotices = 1024
	maxOffsets = 1024 // before a reader's are pruned
)

func newHub() hub {
	return hub{sessions: map[session.ID]*liveSession{}, feed: map[*waiter]struct{}{}, commits: map[*waiter]struct{}{}}
}

// addCommitted makes the events visible. Batches of one session may arrive out of order if several goroutines
// append.
func (h *hub) addCommitted(events []session.Event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// Note the events in order.
	l := h.sessions[events[0].SessionID]
	for _, e := range events {
		h.position = max(h.position, e.Position)
		l = h.noteEvent(l, e)
	}
	// Signal the streams of the session, then those of all sessions; they read by themselves.
	if l != nil {
		for w := range l.waiters {
			w.signal()
		}
		h.dropIdle(events[0].SessionID, l)
	}
	for w := range h.feed {
		w.signal()
	}
	for w := range h.commits {
		w.signal()
	}
}

// noteEvent brings what the hub keeps of a session up to date. l is nil if it keeps nothing of it.
func (h *hub) noteEvent(l *liveSession, e session.Event) *liveSession {
	// A session is followed from its first open item, or from its first stream, on.
	if it := startedItem(e); it != nil {
		l = h.liveSessionOf(e.SessionID)
		l.items = append(l.items, it)
	}
	if l == nil {
		return nil
	}
	l.head = max(l.head, e.Seq)
	// Items end by themselves, with their turn, or with the session.
	if part := endedItem(e.Data); part != "" {
		l.dropItems(func(it *openItem) bool { return it.fragment.PartID == part })
	}
	switch e.Data.(type) {
	case *session.Deleted:
		l.dropItems(func(*openItem) bool { return true })
	case *session.StepEnded, *session.StepFailed: // whatever a turn left open ends with it
		l.dropItems(func(it *openItem) bool { return it.fragment.MessageID == session.ChangedTurn(e.Data) })
	}
	// Streams get recent events from memory.
	if len(l.waiters) > 0 {
		l.keepRecent(e)
	}
	return l
}

// keepRecent keeps the event if it follows the kept ones; after a gap it starts anew.
func (l *liveSession) keepRecent(e session.Event) {
	if n := len(l.recent); n > 0 && e.Seq != l.recent[n-1].Seq+1 {
		l.recent = l.recent[:0]
	}
	l.recent = append(l.recent, e)
	if len(l.recent) > maxRecent {
		l.recent = append([]session.Event(nil), l.recent[len(l.recent)-maxRecent/2:]...)
	}
}

// recentAfter returns the kept events with seq > cursor; ok is false if they must be read from the store.
func (l *liveSession) recentAfter(cursor int64) (events []session.Event, ok bool) {
	if l.head <= cursor {
		return nil, true
	}
	if len(l.recent) == 0 || l.recent[0].Seq > cursor+1 || l.recent[len(l.recent)-1].Seq != l.head {
		return nil, false
	}
	return append([]session.Event(nil), l.recent[cursor+1-l.recent[0].Seq:]...), true
}

func (h *hub) liveSessionOf(id session.ID) *liveSession {
	l := h.sessions[id]
	if l == nil {
		l = &liveSession{head: -1, waiters: map[*waiter]struct{}{}}
		h.sessions[id] = l
	}
	return l
}

// dropIdle removes a session without readers and open items.
func (h *hub) dropIdle(id session.ID, l *liveSession) {
	if len(l.waiters) == 0 && len(l.items) == 0 {
		delete(h.sessions, id)
	}
}

func (l *liveSession) dropItems(gone func(*openItem) bool) {
	l.items = slices.DeleteFunc(l.items, gone)
}

// publish appends a delta to the open item of the part, and signals the streams.
func (h *hub) publish(id session.ID, part session.PartID, delta string, at int64) {
	if delta == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// Without an entry the session has neither an open item nor a stream.
	l := h.sessions[id]
	if l == nil {
		return
	}
	for _, it := range l.items {
		if it.fragment.PartID == part {
			it.text = append(it.text, delta...)
			it.fragment.Timestamp = at
		}
	}
	for w := range l.waiters {
		w.signal()
	}
	for w := range h.feed {
		w.signal()
	}
}

func (h *hub) notify(n Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notice++
	n.Number = h.notice
	h.notices = append(h.notices, queuedNotice{n, h.position})
	if len(h.notices) > 2*maxNotices {
		h.notices = append([]queuedNotice(nil), h.notices[len(h.notices)-maxNotices:]...)
	}
	if l := h.sessions[n.SessionID]; l != nil {
		for w := range l.waiters {
			w.signal()
		}
	}
	for w := range h.feed {
		w.signal()
	}
}

func (h *hub) newestMark() Mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Mark{Position: h.position, Notice: h.notice, Since: h.position}
}

// unseenNotices returns the kept notices after the number that keep accepts, up to the first one that follows an
// event after the position, and the number of the last notice that was considered. The caller holds mu.
func (h *hub) unseenNotices(noticed, position int64, keep func(Notice) bool) ([]Notice, int64) {
	missed := min(h.notice-noticed, int64(len(h.notices)))
	noticed = h.notice - missed
	var ns []Notice
	for _, n := range h.notices[int64(len(h.notices))-missed:] {
		if n.position > position {
			break
		}
		noticed++
		if keep(n.Notice) {
			ns = append(ns, n.Notice)
		}
	}
	return ns, noticed
}

// noticesBefore returns the notices that precede the event at the position.
func (h *hub) noticesBefore(noticed, position int64) ([]Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unseenNotices(noticed, position-1, func(Notice) bool { return true })
}

// offsets holds the number of bytes of each open item that one reader has read. Items whose end the reader has seen are
// finished.
type offsets map[session.PartID]int

const finished = math.MaxInt

// newFragments returns the text of the open items after the reader's offsets and advances the offsets. It leaves
// out items whose start the reader has not seen, because the start event comes first.
func (l *liveSession) newFragments(seen func(*openItem) bool, o offsets) []session.Fragment {
	var fs []session.Fragment
	for _, it := range l.items {
		from := o[it.fragment.PartID]
		if !seen(it) || len(it.text) <= from {
			continue
		}
		f := it.fragment
		f.Offset, f.Delta = from, string(cutFragment(it.text[from:]))
		o[f.PartID] = from + len(f.Delta)
		fs = append(fs, f)
	}
	return fs
}

// maxFragment is the maximum length of a fragment in bytes; a stalled reader holds no more than that.
const maxFragment = 64 << 10

// cutFragment returns the first maxFragment bytes of the text, cut between characters.
func cutFragment[T string | []byte](text T) T {
	if len(text) <= maxFragment {
		return text
	}
	end := maxFragment
	for end > maxFragment-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// startedItem returns the item that the event starts, nil if it starts none.
func startedItem(e session.Event) *openItem {
	f := session.Fragment{
		SessionID: e.SessionID, MessageID: session.ChangedTurn(e.Data), Timestamp: e.Data.Stamp().Timestamp,
	}
	switch d := e.Data.(type) {
	case *session.TextStarted:
		f.PartID, f.ItemID, f.Item = d.PartID, d.TextID, session.FragmentText
	case *session.ReasoningStarted:
		f.PartID, f.ItemID, f.Item = d.PartID, d.ReasoningID, session.FragmentReasoning
	case *session.ToolInputStarted:
		f.PartID, f.ItemID, f.Item = d.PartID, d.CallID, session.FragmentToolInput
	case *session.CompactionStarted:
		f.MessageID, f.PartID, f.Item = d.MessageID, d.TextID, session.FragmentSummary
	default:
		return nil
	}
	return &openItem{fragment: f, started: e.Seq, position: e.Position}
}

// endedItem returns the item that the event ends, "" if it ends none.
func endedItem(d session.EventData) session.PartID {
	part, _, _ := endedFragment(d)
	return part
}

// endedFragment returns the item that the event ends, with its provider's id and whole text.
func endedFragment(d session.EventData) (part session.PartID, f session.Fragment, text string) {
	switch d := d.(type) {
	case *session.TextEnded:
		return d.PartID, session.Fragment{
			MessageID: d.AssistantMessageID, ItemID: d.TextID, Item: session.FragmentText,
		}, d.Text
	case *session.ReasoningEnded:
		return d.PartID, session.Fragment{
			MessageID: d.AssistantMessageID, ItemID: d.ReasoningID, Item: session.FragmentReasoning,
		}, d.Text
	case *session.ToolInputEnded:
		return d.PartID, session.Fragment{
			MessageID: d.AssistantMessageID, ItemID: d.CallID, Item: session.FragmentToolInput,
		}, d.Text
	case *session.CompactionEnded:
		return d.TextID, session.Fragment{MessageID: d.MessageID, Item: session.FragmentSummary}, d.Text
	case *session.CompactionFailed:
		return d.TextID, f, ""
	default:
		return "", f, ""
	}
}
