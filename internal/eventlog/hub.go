package eventlog

import (
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// hub is what the readers of one process share: who waits, what is open, what is newest. Rows stay the truth; the
// hub's recent events only save reading them again.
type hub struct {
	mu       sync.Mutex // guards everything below
	sessions map[session.ID]*live
	feed     map[*waiter]struct{}
	position int64
	notices  []placed // the newest maxNotices, the last one being number noticed
	noticed  int64
}

// placed is a notice with the position of the newest event before it.
type placed struct {
	Notice
	behind int64
}

// live is a session that somebody follows or that has open items.
type live struct {
	head    int64
	waiters map[*waiter]struct{}
	items   []*item         // in order of their start
	recent  []session.Event // newest maxRecent while somebody follows, contiguous, rising
}

// item is an open text, reasoning or argument stream.
type item struct {
	fragment session.Fragment // all but Offset and Delta
	started  int64            // seq of the starting event
	position int64            // and its position
	text     []byte
}

// waiter is one reader's dirty flag: capacity 1, so that wakes coalesce and never block.
type waiter struct{ wake chan struct{} }

func newWaiter() *waiter { return &waiter{make(chan struct{}, 1)} }

func (w *waiter) poke() {
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
	return hub{sessions: map[session.ID]*live{}, feed: map[*waiter]struct{}{}}
}

// committed makes the events visible. Batches of one session may arrive out of order when several goroutines append.
func (h *hub) committed(events []session.Event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.sessions[events[0].SessionID]
	for _, e := range events {
		h.position = max(h.position, e.Position)
		l = h.note(l, e)
	}
	if l != nil {
		for w := range l.waiters {
			w.poke()
		}
		h.tidy(events[0].SessionID, l)
	}
	for w := range h.feed {
		w.poke()
	}
}

func (h *hub) note(l *live, e session.Event) *live {
	if it := opened(e); it != nil {
		l = h.live(e.SessionID)
		l.items = append(l.items, it)
	}
	if l == nil {
		return nil
	}
	l.head = max(l.head, e.Seq)
	if part := closed(e.Data); part != "" {
		l.drop(func(it *item) bool { return it.fragment.PartID == part })
	}
	switch e.Data.(type) {
	case *session.Deleted:
		l.drop(func(*item) bool { return true })
	case *session.StepEnded, *session.StepFailed: // whatever a turn left open ends with it
		l.drop(func(it *item) bool { return it.fragment.MessageID == session.ChangedTurn(e.Data) })
	}
	if len(l.waiters) > 0 {
		l.remember(e)
	}
	return l
}

// remember keeps the event if it continues what is kept; a gap starts anew.
func (l *live) remember(e session.Event) {
	if n := len(l.recent); n > 0 && e.Seq != l.recent[n-1].Seq+1 {
		l.recent = l.recent[:0]
	}
	l.recent = append(l.recent, e)
	if len(l.recent) > maxRecent {
		l.recent = append([]session.Event(nil), l.recent[len(l.recent)-maxRecent/2:]...)
	}
}

// after returns the kept events with seq > cursor; ok is false if rows must be read instead.
func (l *live) after(cursor int64) (events []session.Event, ok bool) {
	if l.head <= cursor {
		return nil, true
	}
	if len(l.recent) == 0 || l.recent[0].Seq > cursor+1 || l.recent[len(l.recent)-1].Seq != l.head {
		return nil, false
	}
	return append([]session.Event(nil), l.recent[cursor+1-l.recent[0].Seq:]...), true
}

func (h *hub) live(id session.ID) *live {
	l := h.sessions[id]
	if l == nil {
		l = &live{head: -1, waiters: map[*waiter]struct{}{}}
		h.sessions[id] = l
	}
	return l
}

// tidy forgets a session that nobody follows and that has nothing open.
func (h *hub) tidy(id session.ID, l *live) {
	if len(l.waiters) == 0 && len(l.items) == 0 {
		delete(h.sessions, id)
	}
}

func (l *live) drop(gone func(*item) bool) { l.items = slices.DeleteFunc(l.items, gone) }

func (h *hub) publish(id session.ID, part session.PartID, delta string, at int64) {
	if delta == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
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
		w.poke()
	}
	for w := range h.feed {
		w.poke()
	}
}

func (h *hub) notify(n Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noticed++
	n.Number = h.noticed
	h.notices = append(h.notices, placed{n, h.position})
	if len(h.notices) > 2*maxNotices {
		h.notices = append([]placed(nil), h.notices[len(h.notices)-maxNotices:]...)
	}
	if l := h.sessions[n.SessionID]; l != nil {
		for w := range l.waiters {
			w.poke()
		}
	}
	for w := range h.feed {
		w.poke()
	}
}

func (h *hub) newest() Mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Mark{h.position, h.noticed, h.position}
}

// unseen returns the kept notices after number noticed that keep wants, up to the first that stands behind an event beyond
// the position, and the number of the last that was looked at. mu is held.
func (h *hub) unseen(noticed, position int64, keep func(Notice) bool) ([]Notice, int64) {
	missed := min(h.noticed-noticed, int64(len(h.notices)))
	noticed = h.noticed - missed
	var ns []Notice
	for _, n := range h.notices[int64(len(h.notices))-missed:] {
		if n.behind > position {
			break
		}
		noticed++
		if keep(n.Notice) {
			ns = append(ns, n.Notice)
		}
	}
	return ns, noticed
}

// before returns the notices that stand before the event at the position.
func (h *hub) before(noticed, position int64) ([]Notice, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unseen(noticed, position-1, func(Notice) bool { return true })
}

// offsets is how far one reader has read the open items. An item that the reader saw end is at finished.
type offsets map[session.PartID]int

const finished = math.MaxInt

// fragments returns what the open items hold beyond the reader's offsets and advances these. Items whose start the
// reader has not seen are left for later: their starting event comes first.
func (l *live) fragments(seen func(*item) bool, o offsets) []session.Fragment {
	var fs []session.Fragment
	for _, it := range l.items {
		from := o[it.fragment.PartID]
		if !seen(it) || len(it.text) <= from {
			continue
		}
		f := it.fragment
		f.Offset, f.Delta = from, string(chunk(it.text[from:]))
		o[f.PartID] = from + len(f.Delta)
		fs = append(fs, f)
	}
	return fs
}

// maxFragment bounds what one reader is given at once, in bytes: a reader that stalls holds no more than that.
const maxFragment = 64 << 10

// chunk returns the beginning of the text, at most maxFragment of it, cut between characters.
func chunk[T string | []byte](text T) T {
	if len(text) <= maxFragment {
		return text
	}
	end := maxFragment
	for end > maxFragment-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// opened returns the item that the event starts.
func opened(e session.Event) *item {
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
	default:
		return nil
	}
	return &item{fragment: f, started: e.Seq, position: e.Position}
}

// closed returns the item that the event ends.
func closed(d session.EventData) session.PartID {
	part, _, _ := ended(d)
	return part
}

// ended returns the item that the event ends, with its provider's name and whole text.
func ended(d session.EventData) (part session.PartID, f session.Fragment, text string) {
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
	default:
		return "", f, ""
	}
}
