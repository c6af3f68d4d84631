package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func fullSession() *session.Session {
	return &session.Session{
		ID: "ses_full", ParentID: "ses_parent", ProjectID: "prj", Agent: "build",
		Model: &session.ModelRef{ID: "m", ProviderID: "p", Variant: "high"},
		Cost:  session.Dollar / 3, Tokens: session.Tokens{
			Input: 1, Output: 2, Reasoning: 3, Cache: session.CacheUsage{Read: 4, Write: 5},
		},
		Time: session.SessionTime{Created: 10, Updated: 20}, Title: "Ä title with 100% _ and 'quotes'",
		Location: session.Location{Directory: "/work/dir", WorkspaceID: "w"}, Subpath: "sub/path",
		Revert: &session.Revert{MessageID: "msg_r"}, Slug: "slug", Version: "1.2.3", TitledBy: "user",
		Permission: []session.Rule{{Action: "edit", Resource: "*", Effect: session.Ask}},
		Budget:     &session.Budget{USD: session.Dollar, Turns: 3},
		Tags:       []string{"to-do", "work"},
		Extra:      jsontext.Value(`{"later":{"x":[1,2]}}`),
	}
}

func getSession(t *testing.T, s store.Store, id session.ID) *session.Session {
	t.Helper()
	return get(t, s, func(r store.Reader) (*session.Session, error) { return rowOrZero(r.Session(id)) })
}

func testSession(t *testing.T, s store.Store) {
	// Put a session that does not exist yet.
	if got := getSession(t, s, "ses_full"); got != nil {
		t.Errorf("there is a session %v", got)
	}
	want := fullSession()
	update(t, s, func(tx store.Tx) error { return tx.PutSession(want) })
	checkEqual(t, "stored", getSession(t, s, want.ID), want)

	// Each change is seen by all ways to read and to list.
	for _, change := range []func(*session.Session){
		func(x *session.Session) { x.Title, x.Time.Updated = "other", 30 },
		func(x *session.Session) { x.Location.Directory, x.Subpath, x.ProjectID = "/elsewhere", "", "prj2" },
		func(x *session.Session) { x.Time.Archived = 40 },
		func(x *session.Session) { x.Tags = []string{"仕事", "other"} },
		func(x *session.Session) { x.Ephemeral = true },
		func(x *session.Session) { x.ParentID, x.Model, x.Extra, x.Ephemeral = "", nil, nil, false },
	} {
		change(want)
		update(t, s, func(tx store.Tx) error { return tx.PutSession(want) })
		checkEqual(t, "replaced", getSession(t, s, want.ID), want)
		listed := get(t, s, func(r store.Reader) ([]*session.Session, error) {
			return store.ReadSessions(r, store.SessionQuery{
				Directory: want.Location.Directory, ProjectID: want.ProjectID, ParentID: &want.ParentID,
				Subpath: want.Subpath, Search: want.Title, Archived: true, Tag: strings.Join(want.Tags, ","),
				Ephemeral: want.Ephemeral,
			})
		})
		checkEqual(t, "listed by what it is now", listed, []*session.Session{want})
		// The stored form comes with the times that lists are sorted by.
		for _, recent := range []bool{false, true} {
			raw := get(t, s, func(r store.Reader) ([]store.RawSession, error) {
				return r.RawSessions(store.SessionQuery{ProjectID: want.ProjectID, Archived: true, Recent: recent})
			})
			if len(raw) != 1 || raw[0].ID != want.ID || raw[0].Created != want.Time.Created ||
				raw[0].Updated != want.Time.Updated {
				t.Fatalf("as it is stored: %+v", raw)
			}
			opened, err := raw[0].Session()
			if err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "as it is stored", opened, want)
		}
	}
	// A reader's copy is its own.
	getSession(t, s, want.ID).Permission[0].Action = "changed"
	checkEqual(t, "after a reader changed its copy", getSession(t, s, want.ID), want)
}

func testSessionFilters(t *testing.T, s store.Store) {
	// Each session differs from the default in what one filter looks at.
	put := func(id session.ID, f func(*session.Session)) func(store.Tx) error {
		return func(tx store.Tx) error {
			x := &session.Session{
				ID: id, ProjectID: "p", Location: session.Location{Directory: "/p"},
				Time: session.SessionTime{Created: 5},
			}
			f(x)
			return tx.PutSession(x)
		}
	}
	update(t, s, put("a", func(x *session.Session) {
		x.Title, x.Subpath, x.Tags = "Fix 100% of it", "src", []string{"to-do", "work", "仕事"}
	}))
	update(t, s, put("b", func(x *session.Session) { x.Title, x.Subpath = "fix 100 of it", "src/deep" }))
	update(t, s, put("c", func(x *session.Session) { x.Title, x.Subpath, x.ParentID = "ÄRGER_1", "src2", "a" }))
	update(t, s, func(tx store.Tx) error { return tx.PutProject(store.Project{ID: "rq"}) })
	update(t, s, put("d", func(x *session.Session) { x.ProjectID, x.RecordID, x.Location.Directory = "q", "rq", "/q" }))
	update(t, s, put("e", func(x *session.Session) { x.Time.Archived, x.ParentID = 9, "a" }))
	update(t, s, put("f", func(x *session.Session) { x.Location.Directory, x.Subpath = "/p/src", "src%" }))
	for id, directory := range map[session.ID]string{
		"g": "/home/u", "h": "/home/u/x", "i": "/home/u2", "j": "/tmp/home/u",
	} {
		update(t, s, put(id, func(x *session.Session) { x.ProjectID, x.Location.Directory = "global", directory }))
	}
	// Every filter, in both orders.
	root, parent := session.ID(""), session.ID("a")
	for _, tt := range []struct {
		name string
		q    store.SessionQuery
		want []session.ID
	}{
		{"all", store.SessionQuery{}, []session.ID{"a", "b", "c", "d", "f", "g", "h", "i", "j"}},
		{
			"archived",
			store.SessionQuery{Archived: true},
			[]session.ID{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"},
		},
		{"directory", store.SessionQuery{Directory: "/p"}, []session.ID{"a", "b", "c"}},
		{"project", store.SessionQuery{ProjectID: "q"}, []session.ID{"d"}},
		{"repository", store.SessionQuery{RecordID: "rq", Within: "/home/u"}, []session.ID{"d", "g", "h"}},
		{"repository of another directory", store.SessionQuery{RecordID: "rq", Within: "/home/u/x/y"}, []session.ID{"d"}},
		{"repository at the root", store.SessionQuery{RecordID: "rq", Within: "/"}, []session.ID{"d", "g", "h", "i", "j"}},
		{"searched project", store.SessionQuery{ProjectID: "p", Search: "FIX"}, []session.ID{"a", "b"}},
		{"subpath", store.SessionQuery{Subpath: "src"}, []session.ID{"a", "b"}},
		{"deep subpath", store.SessionQuery{Subpath: "src/deep"}, []session.ID{"b"}},
		{"subpath outside of projects", store.SessionQuery{Subpath: "home/u"}, []session.ID{"g", "h"}},
		{"deep subpath outside of projects", store.SessionQuery{Subpath: "home/u/x"}, []session.ID{"h"}},
		{"literal subpath", store.SessionQuery{Subpath: "sr%"}, []session.ID{}},
		{"roots", store.SessionQuery{ParentID: &root}, []session.ID{"a", "b", "d", "f", "g", "h", "i", "j"}},
		{"children", store.SessionQuery{ParentID: &parent, Archived: true}, []session.ID{"c", "e"}},
		{"search folds case", store.SessionQuery{Search: "FIX 100"}, []session.ID{"a", "b"}},
		{"search beyond ASCII", store.SessionQuery{Search: "ärger"}, []session.ID{"c"}},
		{"search takes % literally", store.SessionQuery{Search: "100%"}, []session.ID{"a"}},
		{"search takes _ literally", store.SessionQuery{Search: "r_1"}, []session.ID{"c"}},
		{"search finds nothing", store.SessionQuery{Search: `\`}, []session.ID{}},
		{
			"several",
			store.SessionQuery{ProjectID: "p", Directory: "/p", ParentID: &root, Search: "fix", Subpath: "src/deep"},
			[]session.ID{"b"},
		},
	} {
		for _, oldest := range []bool{true, false} {
			tt.q.Oldest = oldest
			got := idsOf(
				get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, tt.q) }),
			)
			want := slices.Clone(tt.want)
			if !oldest {
				slices.Reverse(want)
			}
			checkEqual(t, fmt.Sprintf("%s, oldest %v", tt.name, oldest), got, want)
		}
	}
}

// A list with tags has the sessions with all of them, as they are now, in each order of lists; a list of ephemeral
// sessions has no other ones.
func testSessionTags(t *testing.T, s store.Store) {
	put := func(id session.ID, archived int64, tags ...string) {
		update(t, s, func(tx store.Tx) error {
			return tx.PutSession(&session.Session{
				ID: id, ProjectID: "p", Title: "Fix " + string(id), Tags: tags,
				Time: session.SessionTime{Created: 5, Updated: 5, Archived: archived},
			})
		})
	}
	put("a", 0, "to-do", "work", "仕事")
	put("b", 0)
	put("c", 0, "old", "to-do")
	put("c", 0, "work") // tagged anew
	put("d", 9, "work") // archived
	put("e", 0, "work")
	put("e", 0) // no longer tagged
	put("f", 0, "workshop")
	for id, parent := range map[session.ID]session.ID{"g": "", "h": "g"} {
		update(t, s, func(tx store.Tx) error {
			return tx.PutSession(&session.Session{
				ID: id, ParentID: parent, Time: session.SessionTime{Created: 5, Updated: 5}, Ephemeral: true,
			})
		})
	}
	root := session.ID("")
	for _, tt := range []struct {
		name string
		q    store.SessionQuery
		want []session.ID
	}{
		{"tag", store.SessionQuery{Tag: "work"}, []session.ID{"a", "c"}},
		{"tag and archived", store.SessionQuery{Tag: "work", Archived: true}, []session.ID{"a", "c", "d"}},
		{"tag beyond ASCII", store.SessionQuery{Tag: "仕事"}, []session.ID{"a"}},
		{"all of the tags", store.SessionQuery{Tag: "work,to-do"}, []session.ID{"a"}},
		{"tag that is another one now", store.SessionQuery{Tag: "old"}, []session.ID{}},
		{"part of a tag", store.SessionQuery{Tag: "wor"}, []session.ID{}},
		{"tags are exact", store.SessionQuery{Tag: "Work"}, []session.ID{}},
		{"tag takes % literally", store.SessionQuery{Tag: "%"}, []session.ID{}},
		{"ephemeral", store.SessionQuery{Ephemeral: true}, []session.ID{"g", "h"}},
		{"ephemeral roots", store.SessionQuery{Ephemeral: true, ParentID: &root}, []session.ID{"g"}},
		{"tag of a project", store.SessionQuery{Tag: "work", ProjectID: "p", Search: "fix a"}, []session.ID{"a"}},
	} {
		for _, order := range []store.SessionQuery{{Oldest: true}, {}, {Recent: true}} {
			tt.q.Oldest, tt.q.Recent = order.Oldest, order.Recent
			got := idsOf(
				get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, tt.q) }),
			)
			want := slices.Clone(tt.want)
			if !order.Oldest {
				slices.Reverse(want)
			}
			checkEqual(t, fmt.Sprintf("%s, %+v", tt.name, order), got, want)
		}
	}
}

// The cost of all sessions below one counts, however deep they are, archived ones too; a circle of parents ends.
func testDescendants(t *testing.T, s store.Store) {
	// A chain, a branch of it, a circle, and a session apart.
	const depth = 100
	parents := map[session.ID]session.ID{"sibling": "s1", "circle": "round", "round": "circle", "apart": ""}
	for i := range depth {
		parents[session.ID(fmt.Sprintf("s%d", i+1))] = session.ID(fmt.Sprintf("s%d", i))
	}
	update(t, s, func(tx store.Tx) error {
		for id, parent := range parents {
			x := &session.Session{ID: id, ParentID: parent, Cost: 2, Tokens: session.Tokens{Input: 3}}
			if id == "s50" {
				x.Time.Archived = 9
			}
			if err := tx.PutSession(x); err != nil {
				return err
			}
		}
		return nil
	})
	// Sums count each descendant once.
	for id, below := range map[session.ID]int64{
		"s0": depth + 1, "s1": depth, "s99": 1, "s100": 0, "apart": 0, "circle": 2,
	} {
		got := get(t, s, func(r store.Reader) (int64, error) {
			cost, tokens, err := store.SumDescendants(r, id)
			if cost != session.USD(2*below) {
				t.Errorf("below %s: cost %v", id, cost)
			}
			return tokens.Input, err
		})
		checkEqual(t, "below "+string(id), got, 3*below)
	}
}

func idsOf(list []*session.Session) []session.ID {
	out := []session.ID{}
	for _, x := range list {
		out = append(out, x.ID)
	}
	return out
}

// Pages in both directions, with times that are equal, negative and extreme.
func testSessionPages(t *testing.T, s store.Store) {
	// The order is that of time, then of the id.
	var all []session.ID
	update(t, s, func(tx store.Tx) error {
		for i, created := range []int64{-7, 0, 5, 5, 5, 5, 6, 6, 1 << 50} {
			id := session.ID(fmt.Sprintf("ses_%d", i))
			all = append(all, id)
			err := tx.PutSession(&session.Session{
				ID: id, ProjectID: "p", Location: session.Location{Directory: "/d"},
				Time: session.SessionTime{Created: created},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	// Follow the pages to the end, under each filter.
	for _, q := range []store.SessionQuery{{}, {ProjectID: "p"}, {Directory: "/d"}, {ParentID: new(session.ID)}} {
		for _, oldest := range []bool{true, false} {
			q.Oldest, q.Limit, q.After = oldest, 2, nil
			got := []session.ID{}
			for range len(all) + 1 {
				page := get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, q) })
				if len(page) == 0 {
					break
				}
				got = append(got, idsOf(page)...)
				last := page[len(page)-1]
				q.After = &store.SessionAnchor{Created: last.Time.Created, ID: last.ID}
			}
			want := slices.Clone(all)
			if !oldest {
				slices.Reverse(want)
			}
			checkEqual(t, fmt.Sprintf("%+v", q), got, want)
		}
	}
	// An anchor need not be a session that exists.
	q := store.SessionQuery{After: &store.SessionAnchor{Created: 5, ID: "ses_3x"}, Limit: 2} // no such session
	page := get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, q) })
	checkEqual(t, "after a place that no session has", idsOf(page), []session.ID{"ses_3", "ses_2"})
}

// What changed last comes first; sessions that changed in one minute, and at one time, are in order too.
func testRecentSessions(t *testing.T, s store.Store) {
	// The sessions changed hours apart, in one minute, and at one time.
	put := func(id session.ID, p session.ProjectID, updated int64) {
		update(t, s, func(tx store.Tx) error {
			return tx.PutSession(&session.Session{
				ID: id, ProjectID: p, Location: session.Location{Directory: "/" + string(id)},
				Time: session.SessionTime{Updated: updated},
			})
		})
	}
	const hour = int64(3_600_000)
	put("a", "p", hour)
	put("b", "p", hour+1)
	put("c", "q", 9*hour)
	put("d", "p", hour+1)
	put("e", "p", 2*hour)
	put("f", "p", 1)
	// Lists, filters and limits by the time of the last change.
	list := func(q store.SessionQuery) []session.ID {
		q.Recent = true
		return idsOf(get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, q) }))
	}
	checkEqual(t, "all", list(store.SessionQuery{}), []session.ID{"c", "e", "d", "b", "a", "f"})
	checkEqual(t, "of a project", list(store.SessionQuery{ProjectID: "p"}), []session.ID{"e", "d", "b", "a", "f"})
	checkEqual(t, "the first of a project", list(store.SessionQuery{ProjectID: "p", Limit: 2}), []session.ID{"e", "d"})
	checkEqual(t, "of a directory", list(store.SessionQuery{ProjectID: "p", Directory: "/a"}), []session.ID{"a"})
	checkEqual(t, "since", list(store.SessionQuery{Since: hour + 1}), []session.ID{"c", "e", "d", "b"})
	checkEqual(t, "before", list(store.SessionQuery{Before: hour + 1}), []session.ID{"a", "f"})
	checkEqual(
		t, "between", list(store.SessionQuery{ProjectID: "p", Since: hour, Before: 2 * hour, Limit: 2}),
		[]session.ID{"d", "b"},
	)
	// A change moves a session within its minute and to another one.
	put("a", "p", hour+2) // in the same minute
	put("f", "p", 10*hour)
	checkEqual(t, "as they are now", list(store.SessionQuery{}), []session.ID{"f", "c", "e", "a", "d", "b"})
	checkEqual(t, "as they are now in a project", list(store.SessionQuery{ProjectID: "p", Limit: 3}), []session.ID{
		"f", "e", "a",
	})
}

// A search finds of a list what has the title, as it is now, and as many as there are.
func testRecentSearch(t *testing.T, s store.Store, q store.SessionQuery) {
	t.Helper()
	limit := q.Limit
	q.Limit = 0
	all := get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, q) })
	want := slices.DeleteFunc(all, func(s *session.Session) bool { return s.Title != "Title 3" })
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	q.Search, q.Limit = "tITLE 3", limit
	got := get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, q) })
	checkEqual(t, fmt.Sprintf("search: %d before %d", limit, q.Before), idsOf(got), idsOf(want))
}

// What changed last comes first however sessions have changed: never since they were made, within a minute, back in
// time.
func testRecentChanges(t *testing.T, s store.Store) {
	// A fixed seed makes failures repeatable; few ids and times make collisions likely.
	const hour = int64(3_600_000)
	r := rand.New(rand.NewPCG(1, 2))
	rows := map[session.ID]*session.Session{}
	change := func(tx store.Tx) error {
		for range 40 {
			x := &session.Session{
				ID: session.ID(fmt.Sprint("ses_", r.IntN(120))), ProjectID: "p", Title: fmt.Sprint("Title ", r.IntN(4)),
				Time: session.SessionTime{Updated: hour + r.Int64N(200_000)},
			}
			rows[x.ID] = x
			if err := tx.PutSession(x); err != nil {
				return err
			}
		}
		return nil
	}
	// After each transaction, every limit must agree with the sorted rows.
	for range 6 {
		update(t, s, change)
		all := slices.SortedFunc(maps.Values(rows), func(a, b *session.Session) int {
			return cmp.Or(cmp.Compare(b.Time.Updated, a.Time.Updated), cmp.Compare(b.ID, a.ID))
		})
		for _, limit := range []int{0, 1, 2, 7, 30, 60, len(all), 1000} {
			for _, before := range []int64{0, hour + 100_000} {
				want := slices.Clone(all)
				if before > 0 {
					want = slices.DeleteFunc(want, func(s *session.Session) bool { return s.Time.Updated >= before })
				}
				if limit > 0 {
					want = want[:min(limit, len(want))]
				}
				q := store.SessionQuery{ProjectID: "p", Recent: true, Limit: limit, Before: before}
				got := get(t, s, func(r store.Reader) ([]*session.Session, error) { return store.ReadSessions(r, q) })
				checkEqual(t, fmt.Sprintf("%d before %d", limit, before), idsOf(got), idsOf(want))
				testRecentSearch(t, s, q)
			}
		}
	}
}

func testUnfinished(t *testing.T, s store.Store) {
	put := func(id session.ID, updated int64) func(store.Tx) error {
		return func(tx store.Tx) error {
			return tx.PutSession(&session.Session{ID: id, Time: session.SessionTime{Updated: updated}})
		}
	}
	for i, id := range []session.ID{"a", "b", "c", "d"} {
		update(t, s, put(id, int64(10-i)))
	}
	mark := func(id session.ID, to bool) {
		update(t, s, func(tx store.Tx) error { return tx.SetUnfinished(id, to) })
	}
	unfinished := func(limit int) []session.ID {
		return get(t, s, func(r store.Reader) ([]session.ID, error) { return r.Unfinished(limit) })
	}
	checkEqual(t, "none", unfinished(0), []session.ID{})
	for _, id := range []session.ID{"a", "b", "d", "ses_none"} {
		mark(id, true)
	}
	checkEqual(t, "longest untouched first", unfinished(0), []session.ID{"d", "b", "a"})
	checkEqual(t, "limited", unfinished(2), []session.ID{"d", "b"})
	update(t, s, put("d", 100)) // keeps the mark
	mark("b", false)
	mark("b", false)
	checkEqual(t, "after changes", unfinished(0), []session.ID{"a", "d"})
	update(t, s, func(tx store.Tx) error { return tx.DeleteSession("a") })
	update(t, s, put("a", 1))
	checkEqual(t, "a new session is not marked", unfinished(0), []session.ID{"d"})
}

func testDeleteSession(t *testing.T, s store.Store) {
	// Give a session rows of each kind.
	fill := func(tx store.Tx, id session.ID) error {
		if err := appendEvents(tx, id, 3); err != nil {
			return err
		}
		if err := tx.PutSession(&session.Session{ID: id}); err != nil {
			return err
		}
		if err := tx.PutMessage(
			id, &session.User{Head: headOf(session.MessageID("msg_"+id), session.TypeUser, 1)}, nil, 0,
		); err != nil {
			return err
		}
		if err := tx.PutInput(&session.Input{ID: session.MessageID("in_" + id), SessionID: id}); err != nil {
			return err
		}
		if err := tx.PutEpoch(id, &store.Epoch{Baseline: "b"}); err != nil {
			return err
		}
		ask := store.AskRow{
			PendingAsk: session.PendingAsk{ID: session.AskID("per_" + id), SessionID: id, Resources: []string{}},
		}
		if err := tx.PutAsk(&ask); err != nil {
			return err
		}
		return tx.AddSpend(store.Spend{SessionID: id, Seq: 1, Time: 1})
	}
	// Count what is left of each kind.
	count := func(id session.ID) []int {
		return get(t, s, func(r store.Reader) ([]int, error) {
			events, _ := r.Events(id, -1, 0)
			messages, _ := store.ReadMessages(r, id, store.MessageQuery{After: -1})
			inputs, _ := store.PendingInputs(r, id, "", 0)
			asks, _ := r.Asks(store.AskQuery{SessionID: id})
			spent, _ := r.Spent(id, 0)
			_, row, _ := r.Session(id)
			_, epoch, err := r.Epoch(id)
			has := map[bool]int{true: 1}
			return []int{len(events), has[row], len(messages), len(inputs), has[epoch], len(asks), len(spent)}, err
		})
	}
	// Fill two and delete one, of which the spend remains.
	for _, id := range []session.ID{"a", "b"} {
		update(t, s, func(tx store.Tx) error { return fill(tx, id) })
	}
	update(t, s, func(tx store.Tx) error { return tx.DeleteSession("ses_none") })
	update(t, s, func(tx store.Tx) error { return tx.DeleteSession("a") })
	checkEqual(t, "deleted", count("a"), []int{0, 0, 0, 0, 0, 0, 1})
	checkEqual(t, "untouched", count("b"), []int{3, 1, 1, 1, 1, 1, 1})
	// A new session may use the ids of the deleted one.
	update(t, s, func(tx store.Tx) error { return fill(tx, "a") }) // all its ids are free again
	checkEqual(t, "made again", count("a"), []int{3, 1, 1, 1, 1, 1, 1})
}
