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

	"github.com/cairn-dev/cairn/internal/record/follower"
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
	Now      int64        // milliseconds; newer documents come first where both fit alike
	Limit    int          // of hits; 0: 20
	Offset   int          // of the first hit
}

// defaultLimit is the number of hits of a search without one.
const defaultLimit = 20

// Hit is a document that was found. Of a message only the document that fits best is one.
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

// Page is a part of the hits of a search, the best first.
type Page struct {
	Hits    []Hit
	More    bool   // others follow
	Trimmed bool   // the index has lost the texts that were indexed first, because it was too large
	Problem string // why the index is not brought up to date; set by the owner of the index
}

// ErrNotBuilt means that there is no index yet.
var ErrNotBuilt = errors.New("the search index is not built yet")

// maxCandidates bounds the documents that are compared: of those that fit, the ones that were indexed last.
const maxCandidates = 2000

// searchTime bounds a search.
const searchTime = 5 * time.Second

// candidate is a document that fits.
type candidate struct {
	session   session.ID
	seq, part int64
	kind      int
	time      int64
	digest    int64
	score     float64
}

// Search returns the hits of a query. A query that is not possible, or takes too long, is a *session.Error. The error is
// ErrNotBuilt before there is an index, and follower.ErrLost once if Search found it damaged and removed it.
func (x *Index) Search(ctx context.Context, q Query) (*Page, error) {
	terms, err := parseTerms(q.Text)
	if err != nil {
		return nil, err
	}
	page := &Page{Hits: []Hit{}}
	if q.Sessions != nil && len(q.Sessions) == 0 {
		return page, nil
	}
	found, err := x.findCandidates(ctx, terms, q, page)
	if x.discard(ctx, err) {
		return nil, follower.ErrLost
	}
	if err != nil {
		return nil, err
	}
	// Read them from the store until the page is full.
	limit := cmp.Or(q.Limit, defaultLimit)
	found = rank(found, q.Now)
	for _, c := range found[min(q.Offset, len(found)):] {
		if len(page.Hits) == limit {
			page.More = true
			break
		}
		hit, ok, err := x.readHit(ctx, c, terms)
		if err != nil {
			return nil, err
		}
		if ok { // else the store does not have it any more
			page.Hits = append(page.Hits, hit)
		}
	}
	return page, nil
}

// marks returns the marks that a document must have.
func (q *Query) marks() (out []string) {
	for _, m := range []struct{ field, value string }{
		{"kind", string(q.Kind)}, {"tool", q.Tool}, {"agent", q.Agent},
	} {
		if m.value != "" {
			out = append(out, newMark(m.field, m.value))
		}
	}
	if q.Failed {
		out = append(out, newMark("failed", ""))
	}
	if q.Role != "" {
		var any []string
		for _, k := range kinds {
			if k.role() == q.Role {
				any = append(any, newMark("kind", string(k)))
			}
		}
		out = append(out, "("+strings.Join(any, " OR ")+")")
	}
	// Few sessions are marks, too, so that only their documents are looked at.
	if n := len(q.Sessions); n > 0 && n <= maxSessionMarks {
		out = append(out, "("+strings.Join(markSessions(q.Sessions), " OR ")+")")
	}
	return out
}

// maxSessionMarks is the number of sessions up to which a search names them by their marks.
const maxSessionMarks = 64

func markSessions(ids []session.ID) (out []string) {
	for _, id := range ids {
		out = append(out, newMark("session", string(id)))
	}
	return out
}

// The documents that fit are those that were indexed last of the ones with the words ?1. The words decide first: CROSS JOIN
// keeps that order. bm25 counts the documents of each of its words, so it gets the rare ones only, ?5.
const (
	columns = `SELECT session.id, document.seq, document.part, document.kind, document.time, document.digest, `
	joins   = ` CROSS JOIN document ON document.id = entry.rowid CROSS JOIN session ON session.number = document.session`
	fits    = ` WHERE entry MATCH ?1 AND document.time >= ?2
		AND (?4 IS NULL OR document.session IN (SELECT number FROM session WHERE id IN (SELECT value FROM json_each(?4))))
		ORDER BY entry.rowid DESC LIMIT ?3`

	selectRanked   = columns + `bm25(entry, 1, 0) FROM entry` + joins + fits
	selectUnranked = columns + `-1.0 FROM entry` + joins + fits
	selectByRare   = columns + `bm25(entry, 1, 0) FROM entry` + joins + ` WHERE entry MATCH ?5
		AND +entry.rowid IN (SELECT entry.rowid FROM entry` + joins + fits + `)`
)

// commonRows is the number of documents from which on a word says too little about one of them to be counted.
const commonRows = 50_000

// chooseStatement returns the statement that finds the documents of the terms, and the match of the rare ones.
func (x *Index) chooseStatement(c *zs.Conn, terms []term) (sql, rare string, err error) {
	most := cmp.Or(x.common, commonRows)
	var wanted, left []term
	for _, t := range terms {
		if t.excluded {
			continue
		}
		wanted = append(wanted, t)
		n, err := queryInts(c, "SELECT count(*) FROM (SELECT 1 FROM entry WHERE entry MATCH ?1 LIMIT ?2)",
			formatMatch([]term{t}, nil), most)
		if err != nil {
			return "", "", err
		}
		if n[0] < most {
			left = append(left, t)
		}
	}
	switch len(left) {
	case len(wanted):
		return selectRanked, "", nil
	case 0:
		return selectUnranked, "", nil
	default:
		return selectByRare, formatMatch(left, nil), nil
	}
}

// findCandidates returns the documents that fit, and sets page.Trimmed.
func (x *Index) findCandidates(ctx context.Context, terms []term, q Query, page *Page) (found []candidate, err error) {
	x.files.RLock()
	defer x.files.RUnlock()
	if x.writer == nil {
		return nil, ErrNotBuilt
	}
	if x.isReplaced() {
		return nil, errReplaced
	}
	x.readerMu.Lock()
	defer x.readerMu.Unlock()
	limited, cancel := context.WithTimeout(ctx, searchTime) // of its own time, not of those before it
	defer cancel()
	if x.reader == nil {
		if x.reader, err = x.openReader(); err != nil {
			return nil, fmt.Errorf("open the search index: %w", err)
		}
	}
	var sessions any // NULL is all of them
	if len(q.Sessions) > maxSessionMarks {
		text, err := json.Marshal(q.Sessions)
		if err != nil {
			return nil, err
		}
		sessions = string(text)
	}
	x.reader.SetInterrupt(limited.Done())
	defer x.reader.SetInterrupt(nil)
	sql, rare, err := x.chooseStatement(x.reader, terms)
	args := []any{formatMatch(terms, q.marks()), q.Since, maxCandidates, sessions}
	if rare != "" {
		args = append(args, rare)
	}
	if err == nil {
		page.Trimmed, err = isTrimmed(x.reader)
	}
	if err != nil {
		return nil, describeSearchError(ctx, limited, err)
	}
	err = sqlitex.Execute(x.reader, sql, &sqlitex.ExecOptions{
		Args: args,
		ResultFunc: func(st *zs.Stmt) error {
			found = append(found, candidate{
				session: session.ID(st.ColumnText(0)), seq: st.ColumnInt64(1), part: st.ColumnInt64(2), kind: st.ColumnInt(3),
				time: st.ColumnInt64(4), digest: st.ColumnInt64(5), score: st.ColumnFloat(6),
			})
			return nil
		},
	})
	if err != nil {
		return nil, describeSearchError(ctx, limited, err)
	}
	return found, nil
}

// describeSearchError returns the error of a search that a person can do something about if its time has ended.
func describeSearchError(ctx, limited context.Context, err error) error {
	if limited.Err() != nil && ctx.Err() == nil {
		return session.Errorf(session.CodeInvalid, "the search took more than %v; give more or longer words", searchTime)
	}
	return fmt.Errorf("search: %w", err)
}

// openReader opens the connection of Search.
func (x *Index) openReader() (*zs.Conn, error) {
	c, err := openConn(File(x.Dir), zs.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	if err := x.check(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// weights are the factors of the kinds: words in a title or a prompt say more than those in the output of a tool.
var weights = map[Kind]float64{Title: 3, Prompt: 2, Answer: 1.5, Summary: 1, Shell: 1, Tool: 1}

// halfLife is an age in milliseconds: half of a document's score loses half of its value in this time.
const halfLife = 60 * 24 * float64(time.Hour/time.Millisecond)

// rank sorts the documents, the best first, and leaves one of each message.
func rank(found []candidate, now int64) []candidate {
	for i := range found {
		c := &found[i]
		age := max(float64(now-c.time), 0)
		// bm25 is negative; the more so, the better the document fits.
		c.score = -c.score * weights[kinds[c.kind]] * (0.5 + 0.5*math.Exp2(-age/halfLife))
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.time, a.time), cmp.Compare(a.session, b.session),
			cmp.Compare(a.seq, b.seq), cmp.Compare(a.part, b.part))
	})
	type message struct {
		session session.ID
		seq     int64
	}
	seen := map[message]bool{}
	return slices.DeleteFunc(found, func(c candidate) bool {
		of := message{c.session, c.seq}
		isSecond := seen[of]
		seen[of] = true
		return isSecond
	})
}

// readHit reads a document from the store; false if it is not there any more, or has changed since it was indexed.
func (x *Index) readHit(ctx context.Context, c candidate, terms []term) (hit Hit, ok bool, err error) {
	// Read the session, and the message.
	var s *session.Session
	var found []session.Message
	err = x.Store.View(ctx, func(r store.Reader) (err error) {
		if s, ok, err = r.Session(c.session); err != nil || !ok || c.seq == titleSeq {
			return err
		}
		if hidden, err := isTakenBack(r, s, c.seq); err != nil || hidden {
			ok = false
			return err
		}
		found, err = store.ReadMessages(r, c.session, store.MessageQuery{After: c.seq - 1, Before: c.seq + 1})
		return err
	})
	if isDamage(err) {
		return hit, false, nil
	}
	if err != nil || !ok {
		return hit, false, err
	}
	// Find the document among those of the message.
	var documents []document
	if c.seq == titleSeq {
		documents = []document{documentOfTitle(s)}
	}
	for _, m := range found {
		hit.MessageID = m.Meta().ID
		documents = documentsOf(m)
	}
	for _, d := range documents {
		if int64(d.part) == c.part && d.kind == kinds[c.kind] && d.digest() == c.digest {
			hit.Session, hit.PartID, hit.Kind, hit.Tool, hit.Agent = s, d.partID, d.kind, d.tool, cmp.Or(d.agent, s.Agent)
			hit.Failed, hit.Time, hit.Snippet = d.failed, d.time, cutSnippet(clipText(d.text), terms)
			return hit, true, nil
		}
	}
	return hit, false, nil
}

// isTakenBack reports whether a staged revert hides the message with the seq.
func isTakenBack(r store.MessageReader, s *session.Session, seq int64) (bool, error) {
	if s.Revert == nil || s.Revert.FilesOnly {
		return false, nil
	}
	m, ok, err := store.FindMessage(r, s.ID, s.Revert.MessageID)
	if err != nil || !ok {
		return false, err
	}
	takes := s.Revert.Exclusive || s.Revert.PartID != "" // the message too, or parts of it
	return seq > m.Meta().Seq || seq == m.Meta().Seq && takes, nil
}
