package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
	"github.com/cairn-dev/cairn/internal/session"
)

// planned explains every statement that is prepared through it.
type planned struct {
	dbConn
	t     *testing.T
	plans map[string]string
}

func (p *planned) Prepare(sql string) (sqlstore.Stmt, error) {
	if _, known := p.plans[sql]; !known {
		var steps []string
		st, err := p.dbConn.Prepare("EXPLAIN QUERY PLAN " + sql)
		if err == nil {
			err = forEachRow(st, func(r row) { steps = append(steps, r.Text(3)) })
		}
		if err != nil {
			p.t.Errorf("%s: %v", sql, err)
		}
		p.plans[sql] = strings.Join(steps, "; ")
	}
	return p.dbConn.Prepare(sql)
}

// writing is a connection to an empty store, until the test ends.
func writing(t *testing.T) dbConn {
	t.Helper()
	dir := t.TempDir()
	open(t, dir).Close()
	h, err := findHome(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := h.openWriter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// plans are the statements of a hot path, each with how SQLite runs it.
func plans(t *testing.T) map[string]string {
	t.Helper()
	conn := writing(t)
	p := &planned{conn, t, map[string]string{}}
	use(t, sqlstore.NewTx(p))
	return p.plans
}

// What changed last is read from the end of an index that nearly has it in order, and nothing is sorted.
func TestRecentSessionsAreReadInOrder(t *testing.T) {
	found := map[string]bool{}
	for sql, plan := range plans(t) {
		if strings.Contains(sql, "ORDER BY recent DESC") && !strings.Contains(sql, "instr(tags") && !strings.Contains(sql, "ephemeral = 1)") {
			found[plan] = true
		}
	}
	want := map[string]bool{
		"SEARCH session USING INDEX session_by_recent (recent>? AND recent<?)":                        true,
		"SEARCH session USING INDEX session_by_record_recent (record_id=? AND recent>? AND recent<?)": true,
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Error(d)
	}
}

// A search reads the titles from an index. A row of the table, which is a page of its own, is read when its title
// has matched.
func TestSearchReadsTheTitleFirst(t *testing.T) {
	testIndexBeforeRow(t, "instr(title", "Function", 14)
}

// A list with tags reads them from an index of the tagged sessions, and a row of the table when its tags have matched.
func TestTagsAreReadFirst(t *testing.T) {
	testIndexBeforeRow(t, "instr(tags", "Function", 9)
	for sql, plan := range plans(t) {
		if strings.Contains(sql, "instr(tags") && !strings.Contains(plan, "COVERING INDEX session_tagged") {
			t.Errorf("%s\n\treads the tags of all sessions: %s", sql, plan)
		}
	}
}

// The list of a repository with many sessions tests the directory in the index of the project before it reads a row, and
// goes through the record and the project "global" in their order: it reads no more sessions than a page has. Few sessions are collected.
func TestRepositoryReadsTheDirectoryFirst(t *testing.T) {
	testIndexBeforeRow(t, "AND +(directory = ", "Or", 4)
	for sql, plan := range plans(t) {
		if strings.Contains(sql, "AND +(directory = ") && strings.Contains(plan, "LIST SUBQUERY") {
			t.Errorf("%s\n\tcollects sessions first: %s", sql, plan)
		}
		if strings.Contains(sql, "AND rowid IN ") && !strings.Contains(plan, "USING INTEGER PRIMARY KEY (rowid=?)") {
			t.Errorf("%s\n\tdoes not begin with the few sessions of the directory: %s", sql, plan)
		}
	}
}

// testIndexBeforeRow checks that the statements with a condition, of which there are count, do its operation before they
// read a row of the table.
func testIndexBeforeRow(t *testing.T, condition, operation string, count int) {
	t.Helper()
	statements := 0
	for sql := range plans(t) {
		if !strings.Contains(sql, condition) {
			continue
		}
		statements++
		var steps []string
		tested, row := -1, -1
		for i, op := range program(t, sql) {
			steps = append(steps, fmt.Sprint(op))
			switch {
			case op.name == operation && tested < 0:
				tested = i
			case op.name == "Column" && op.cursor == 0 && row < 0:
				row = i
			}
		}
		if tested < 0 || row < tested {
			t.Errorf("%s\n\treads a row at %d, the condition is at %d:\n%s", sql, row, tested, strings.Join(steps, "\n"))
		}
	}
	if statements != count {
		t.Errorf("%d statements have %s, want %d", statements, condition, count)
	}
}

// operation is one of the program that SQLite makes of a statement.
type operation struct {
	name   string
	cursor int64 // 0 is the table's
}

func program(t *testing.T, sql string) (ops []operation) {
	t.Helper()
	s := open(t, t.TempDir())
	defer s.Close()
	c, err := s.pool.acquireConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.pool.releaseConn(c)
	if err := query(c, "EXPLAIN "+sql, func(r row) { ops = append(ops, operation{r.Text(1), r.Int(2)}) }); err != nil {
		t.Fatal(err)
	}
	return ops
}

// stepped counts the rows that are read through it.
type stepped struct {
	dbConn
	rows int
}

type steppedStmt struct {
	sqlstore.Stmt
	of *stepped
}

func (s *stepped) Prepare(sql string) (sqlstore.Stmt, error) {
	st, err := s.dbConn.Prepare(sql)
	return steppedStmt{st, s}, err
}

func (s steppedStmt) Step() (bool, error) {
	row, err := s.Stmt.Step()
	if row {
		s.of.rows++
	}
	return row, err
}

// A list of what changed last reads as many sessions as it shows, and of the others only what changed in the same
// minute and before: sessions that were made at once are no such.
func TestRecentSessionsAreReadUpToTheLimit(t *testing.T) {
	conn := writing(t)
	counting := &stepped{dbConn: conn}
	tx := sqlstore.NewTx(counting)
	put := func(i, updated int64) {
		if err := tx.PutSession(&session.Session{
			ID: session.ID(fmt.Sprintf("ses_%04d", i)), ProjectID: "p", Time: session.SessionTime{Updated: updated},
		}); err != nil {
			t.Fatal(err)
		}
	}
	read := func() int {
		counting.rows = 0
		ss, err := store.ReadSessions(tx, store.SessionQuery{ProjectID: "p", Recent: true, Limit: 10})
		if err != nil || len(ss) != 10 {
			t.Fatal(len(ss), err)
		}
		return counting.rows
	}
	for i := range int64(500) {
		put(i, i)
	}
	if n := read(); n != 11 {
		t.Errorf("of sessions that were made in a minute, %d are read, want 11", n)
	}
	for i := range int64(20) {
		put(i, 600+i)
	}
	if n := read(); n != 21 {
		t.Errorf("of sessions of which 20 have changed in the same minute, %d are read, want 21", n)
	}
	put(1000, 1<<16)
	if n := read(); n != 22 {
		t.Errorf("with one of the next minute, %d are read, want 22", n)
	}
}

// No statement of a hot path scans a table or sorts what may be long.
func TestPlansUseIndexes(t *testing.T) {
	for sql, plan := range plans(t) {
		if strings.Contains(sql, "FROM approval") || strings.Contains(sql, "FROM project WHERE ?1 = ''") || strings.Contains(sql, "ask WHERE ?1 = ''") || strings.Contains(
			sql, "WHERE ?1 = 0 AND time",
		) {
			continue // few rows, or a rare query: an index on the spend's time costs a page per turn
		}
		if strings.Contains(plan, "TEMP B-TREE") && !sortsFew(sql) {
			t.Errorf("%s\n\tsorts: %s", sql, plan)
		}
		for step := range strings.SplitSeq(plan, "; ") {
			if table, ok := strings.CutPrefix(step, "SCAN "); ok && !scansLittle(sql, table) {
				t.Errorf("%s\n\tscans: %s", sql, plan)
			}
		}
	}
}

// sortsFew reports whether what is sorted is one session's inbox, asks or costs, what is unfinished, a few projects, or sessions below a
// directory that were counted before.
func sortsFew(sql string) bool {
	counted := "AND rowid IN (SELECT rowid FROM session WHERE (directory = "
	for _, few := range []string{"FROM input", "FROM ask", "FROM spend", "unfinished = 1", "data FROM project", counted, "ephemeral = 1"} {
		if strings.Contains(sql, few) {
			return true
		}
	}
	return false
}

func scansLittle(sql, table string) bool {
	switch {
	case strings.HasPrefix(table, "CONSTANT ROW"), strings.HasPrefix(table, "(subquery-"), strings.HasPrefix(table, "json_each"), strings.HasPrefix(
		table, "session USING INDEX session_unfinished",
	):
		return true
	case strings.HasPrefix(table, "session USING COVERING INDEX session_ephemeral"): // ephemeral sessions only
		return true
	case strings.HasPrefix(table, "session USING COVERING INDEX session_tagged"): // tagged sessions only
		return strings.Contains(sql, "instr(tags")
	case strings.HasPrefix(table, "session USING COVERING INDEX session_by_recent"): // the titles, for those who search
		return strings.Contains(sql, "instr(title")
	default: // the end of the feed
		return table == "event" && strings.Contains(sql, "DESC LIMIT 1")
	}
}

// putMany stores so many sessions of one directory that a list does not collect them.
func putMany(t *testing.T, tx *sqlstore.Tx, dir string) {
	t.Helper()
	for i := range 1000 {
		s := &session.Session{ID: session.ID(fmt.Sprintf("ses_%d", i)), Location: session.Location{Directory: dir}}
		if err := tx.PutSession(s); err != nil {
			t.Fatal(err)
		}
	}
}

func use(t *testing.T, tx *sqlstore.Tx) {
	t.Helper()
	calls := []error{
		second(tx.Head("a")), second(tx.Head("")),
		second(tx.Events("a", -1, 0)), second(tx.Events("a", -1, 0, session.KindCreated)),
		second(tx.Events("a", -1, 0, session.KindFilesWriting, session.KindToolFailed)),
		second(tx.Events("", 0, 10)), second(tx.Events("", 0, 10, session.KindCreated)),
		second(tx.Events("", 0, 10, session.KindDeleted)),
		third(tx.Session("a")), second(tx.Unfinished(1)), third(tx.Message("m")),
		second(tx.Inputs(store.InputQuery{ID: "m"})), second(tx.Inputs(store.InputQuery{SessionID: "a"})),
		second(tx.Inputs(store.InputQuery{SessionID: "a", Delivery: session.Steer})), third(tx.Epoch("a")),
		second(tx.Asks(store.AskQuery{ID: "q"})), second(tx.Asks(store.AskQuery{SessionID: "a", Pending: true})),
		second(tx.Asks(store.AskQuery{Pending: true})), second(tx.Asks(store.AskQuery{})),
		second(tx.Approvals("")), second(tx.Spent("a", 0)), second(tx.Spent("", 0)),
		second(tx.InsertEvent(store.EventRow{ID: "e", SessionID: "a", Kind: "k", Data: []byte("1")})),
		tx.PutSession(&session.Session{ID: "a"}), tx.SetUnfinished("a", true),
		third(tx.Session("n")), tx.PutSession(&session.Session{ID: "n"}), // the row before the event, as a log does
		second(tx.InsertEvent(store.EventRow{ID: "n", SessionID: "n", Kind: "k", Data: []byte("1")})),
		tx.PutMessage(
			"a", &session.User{Head: session.Head{ID: "m", Type: session.TypeUser}}, nil, 0,
		), third(tx.Message("m")),
		tx.DeleteMessages("a", 0, 2), tx.PutInput(&session.Input{ID: "m", SessionID: "a"}), tx.DeleteInput("m"),
		tx.PutEpoch("a", &store.Epoch{}), tx.PutEpoch("a", nil),
		tx.PutAsk(&store.AskRow{PendingAsk: session.PendingAsk{ID: "q", SessionID: "a"}}),
		tx.PutApproval(store.Approval{ID: "p"}), second(tx.DeleteApproval("p")), tx.AddSpend(store.Spend{
			SessionID: "a",
		}),
		second(tx.InsertEvent(store.EventRow{ID: "f", SessionID: "a", Kind: session.KindDeleted, Data: []byte("1")})),
		tx.DeleteSession("a"),
		tx.PutProject(store.Project{ID: "r"}), tx.AdoptSessions(store.Project{ID: "r"}, "/p"),
		second(tx.Projects(store.ProjectQuery{})), second(tx.Projects(store.ProjectQuery{ID: "r"})),
		second(tx.CountElsewhere(store.Project{ID: "r"})), second(tx.DeleteProject("r", "")),
	}
	putMany(t, tx, "/p")
	for _, q := range []store.MessageQuery{{}, {Type: session.TypeUser}, {Type: session.TypeAssistant}, {CallID: "c"}} {
		for _, q.Newest = range []bool{false, true} {
			calls = append(calls, tx.RawMessages("a", q, func(*store.RawMessage) error { return nil }))
		}
	}
	root, child := session.ID(""), session.ID("a")
	for _, q := range []store.SessionQuery{
		{},
		{ProjectID: "p"},
		{Directory: "d"},
		{ParentID: &root},
		{ParentID: &child},
		{Search: "x"},
		{Search: "x", ProjectID: "p"},
		{Search: "x", Directory: "d"},
		{Search: "x", ParentID: &root},
		{Search: "x", ParentID: &child},
		{RecordID: "p", Within: "/p"},
		{RecordID: "p", Within: "/p", ParentID: &root},
		{RecordID: "p", Within: "/few"},
		{RecordID: "p"},
		{Ephemeral: true, ParentID: &root},
		{Tag: "a"},
		{Tag: "a,b", RecordID: "p"},
		{Tag: "a", Directory: "d"},
		{ProjectID: "p", Directory: "d", Subpath: "s", Archived: true},
	} {
		calls = append(calls, second(tx.RawSessions(q)))
		q.Oldest = true
		calls = append(calls, second(tx.RawSessions(q)))
		q.Oldest, q.Recent = false, true
		calls = append(calls, second(tx.RawSessions(q)))
	}
	for i, err := range calls {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }
