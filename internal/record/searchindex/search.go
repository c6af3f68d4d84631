package searchindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Query is a search. Only Text is necessary.
type Query struct {
	Text     string
	Sessions []session.ID // only these; nil any
	Kind     Kind         // "" any
	Role     string       // RoleUser or RoleAssistant; "" any
	Tool     string       // only calls of this tool; "" any
	Agent    string       // "" any
	Failed   bool         // only calls, commands and turns that failed
	Since    int64        // milliseconds
	Now      int64        // milliseconds; newer texts come first where both fit alike
	Limit    int          // of hits; 0: 20
	Offset   int          // of the first hit
}

// defaultLimit is the number of hits of a search without one.
const defaultLimit = 20

// Hit is a text that was found. Of a message only the text that fits best is one.
type Hit struct {
	Session   *session.Session
	MessageID session.MessageID // "" for a title
	PartID    session.PartID    // "" for a text that is not an item of a turn
	Kind      Kind
	Tool      string
	Agent     string
	Failed    bool
	Time      int64 // milliseconds
	Snippet   Snippet
}

// Page is a part of the hits of a search, the best first. More reports that others follow.
type Page struct {
	Hits []Hit
	More bool
}

// ErrNotBuilt means that there is no index yet.
var ErrNotBuilt = errors.New("the search index is not built yet")

// maxCandidates bounds the texts that are compared: those of the texts that fit that were indexed last. So a word that
// is everywhere costs no more than others.
const maxCandidates = 2000

// candidate is a text that fits.
type candidate struct {
	session, seq, part int64
	kind               int
	time               int64
	score              float64
}

// Search returns the hits of a query. A query that is not possible is a *session.Error.
func (x *Index) Search(ctx context.Context, q Query) (*Page, error) {
	terms, err := parseTerms(q.Text)
	if err != nil {
		return nil, err
	}
	if q.Sessions != nil && len(q.Sessions) == 0 {
		return &Page{Hits: []Hit{}}, nil
	}
	found, ids, err := x.findCandidates(ctx, formatMatch(terms, q.marks()), q)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(q.Limit, defaultLimit)
	page := &Page{Hits: []Hit{}}
	skip := q.Offset
	for _, c := range rank(found, q.Now) {
		hit, ok, err := x.readHit(ctx, ids[c.session], c, terms)
		if err != nil {
			return nil, err
		}
		switch {
		case !ok: // the store does not have it any more
		case skip > 0:
			skip--
		case len(page.Hits) == limit:
			page.More = true
			return page, nil
		default:
			page.Hits = append(page.Hits, hit)
		}
	}
	return page, nil
}

// marks returns the marks that a text must have.
func (q *Query) marks() (out []string) {
	for _, one := range []struct{ field, value string }{
		{"kind", string(q.Kind)}, {"role", q.Role}, {"tool", q.Tool}, {"agent", q.Agent},
	} {
		if one.value != "" {
			out = append(out, newMark(one.field, one.value))
		}
	}
	if q.Failed {
		out = append(out, newMark("failed", ""))
	}
	// Few sessions are marks, too, so that only their texts are looked at.
	if n := len(q.Sessions); n > 0 && n <= maxSessionMarks {
		var of []string
		for _, id := range q.Sessions {
			of = append(of, newMark("session", string(id)))
		}
		out = append(out, "("+strings.Join(of, " OR ")+")")
	}
	return out
}

// maxSessionMarks is the number of sessions up to which a search names them by their marks.
const maxSessionMarks = 64

// findCandidates returns the texts that fit, and the ids of their sessions.
func (x *Index) findCandidates(ctx context.Context, match string, q Query) ([]candidate, map[int64]session.ID, error) {
	x.files.RLock()
	defer x.files.RUnlock()
	if x.writer == nil {
		return nil, nil, ErrNotBuilt
	}
	x.reading.Lock()
	defer x.reading.Unlock()
	c, err := x.openReader()
	if err != nil {
		return nil, nil, err
	}
	c.SetInterrupt(ctx.Done())
	defer c.SetInterrupt(nil)
	var sessions any // NULL is all of them
	if len(q.Sessions) > maxSessionMarks {
		text, err := json.Marshal(q.Sessions)
		if err != nil {
			return nil, nil, err
		}
		sessions = string(text)
	}
	var found []candidate
	err = sqlitex.Execute(c, selectTexts, &sqlitex.ExecOptions{
		Args: []any{match, q.Since, maxCandidates, sessions},
		ResultFunc: func(st *zs.Stmt) error {
			found = append(found, candidate{
				session: st.ColumnInt64(0), seq: st.ColumnInt64(1), part: st.ColumnInt64(2), kind: st.ColumnInt(3), time: st.ColumnInt64(4),
				score: st.ColumnFloat(5),
			})
			return nil
		},
	})
	ids := map[int64]session.ID{}
	for _, one := range found {
		if _, isKnown := ids[one.session]; isKnown || err != nil {
			continue
		}
		err = sqlitex.Execute(c, "SELECT id FROM session WHERE number = ?1", &sqlitex.ExecOptions{
			Args:       []any{one.session},
			ResultFunc: func(st *zs.Stmt) error { ids[one.session] = session.ID(st.ColumnText(0)); return nil },
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("search: %w", err)
	}
	return found, ids, nil
}

// selectTexts returns what was indexed last of the texts that fit. The words decide first: CROSS JOIN keeps that order.
const selectTexts = `SELECT text.session, text.seq, text.part, text.kind, text.time, bm25(entry, 1, 0)
	FROM entry CROSS JOIN text ON text.id = entry.rowid
	WHERE entry MATCH ?1 AND text.time >= ?2
		AND (?4 IS NULL OR text.session IN (SELECT number FROM session WHERE id IN (SELECT value FROM json_each(?4))))
	ORDER BY entry.rowid DESC LIMIT ?3`

// openReader returns the connection for reading.
func (x *Index) openReader() (*zs.Conn, error) {
	if x.reader != nil {
		return x.reader, nil
	}
	c, err := openConn(File(x.Dir))
	if err != nil {
		return nil, fmt.Errorf("open the search index: %w", err)
	}
	if err := x.check(c); err != nil {
		return nil, fmt.Errorf("open the search index: %w", errors.Join(err, c.Close()))
	}
	x.reader = c
	return c, nil
}

// weights are the factors of the kinds: words in a title or a prompt say more than those in the output of a tool.
var weights = map[Kind]float64{Title: 3, Prompt: 2, Answer: 1.5, Summary: 1, Shell: 1, Tool: 1}

// halfLife is the age in milliseconds at which a text loses half of what its age can take, which is half of its score.
const halfLife = 60 * 24 * float64(time.Hour/time.Millisecond)

// rank sorts the texts, the best first, and leaves one of each message.
func rank(found []candidate, now int64) []candidate {
	for i := range found {
		c := &found[i]
		age := max(float64(now-c.time), 0)
		// bm25 is negative; the more so, the better the text fits.
		c.score = -c.score * weights[kinds[c.kind]] * (0.5 + 0.5*math.Exp2(-age/halfLife))
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.time, a.time), cmp.Compare(a.session, b.session),
			cmp.Compare(a.seq, b.seq), cmp.Compare(a.part, b.part))
	})
	type place struct{ session, seq int64 }
	seen := map[place]bool{}
	return slices.DeleteFunc(found, func(c candidate) bool {
		at := place{c.session, c.seq}
		isSecond := seen[at]
		seen[at] = true
		return isSecond
	})
}

// readHit reads a text from the store; false if it is not there any more.
func (x *Index) readHit(ctx context.Context, id session.ID, c candidate, terms []term) (hit Hit, ok bool, err error) {
	var s *session.Session
	var found []session.Message
	err = x.Store.View(ctx, func(r store.Reader) error {
		var err error
		if s, ok, err = r.Session(id); err != nil || !ok || c.seq == titleSeq {
			return err
		}
		found, err = store.ReadMessages(r, id, store.MessageQuery{After: c.seq - 1, Before: c.seq + 1})
		return err
	})
	if isDamage(err) {
		return hit, false, nil
	}
	if err != nil || !ok {
		return hit, false, err
	}
	if c.seq == titleSeq {
		return Hit{Session: s, Kind: Title, Time: s.Time.Updated, Snippet: cutSnippet(s.Title, terms)}, true, nil
	}
	for _, m := range found {
		for _, d := range documentsOf(m) {
			if int64(d.part) == c.part && d.kind == kinds[c.kind] {
				return Hit{
					Session: s, MessageID: m.Meta().ID, PartID: d.partID, Kind: d.kind, Tool: d.tool, Agent: cmp.Or(d.agent, s.Agent),
					Failed: d.failed, Time: d.time, Snippet: cutSnippet(d.text, terms),
				}, true, nil
			}
		}
	}
	return hit, false, nil
}
