// Package storetest is the exam that every store must pass, and the stores for tests: Memory, which implements the
// contract without a disk and can simulate a power cut, and the store of NewFailing, which fails at chosen
// transactions.
package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
)

var _ store.Store = (*Memory)(nil)

// Subject is a store under test.
type Subject struct {
	store.Store
	// Reopen closes the store and opens the same data again.
	Reopen func(t *testing.T) store.Store
}

// Run tests the stores that open returns: an empty one per call, which Run closes.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	// From single rows to whole transactions. Each part has a store of its own.
	for _, part := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"Events", testEvents},
		{"EventsRefused", testEventsRefused},
		{"LateStart", testLateStart},
		{"EventsOfKinds", testEventsOfKinds},
		{"Feed", testFeed},
		{"FeedAfterDelete", testFeedAfterDelete},
		{"FeedHasEnds", testFeedHasEnds},
		{"Bytes", testBytes},
		{"LargeRows", testLargeRows},
		{"Session", testSession},
		{"SessionFilters", testSessionFilters},
		{"SessionTags", testSessionTags},
		{"Descendants", testDescendants},
		{"SessionPages", testSessionPages},
		{"RecentSessions", testRecentSessions},
		{"RecentChanges", testRecentChanges},
		{"Unfinished", testUnfinished},
		{"DeleteSession", testDeleteSession},
		{"Messages", testMessages},
		{"MessageQueries", testMessageQueries},
		{"MessageConflicts", testMessageConflicts},
		{"Streaming", testStreaming},
		{"UnknownFields", testUnknownFields},
		{"Inbox", testInbox},
		{"Epochs", testEpochs},
		{"Asks", testAsks},
		{"Approvals", testApprovals},
		{"Spend", testSpend},
		{"Projects", testProjects},
		{"ProjectSessions", testProjectSessions},
		{"Rollback", testRollback},
		{"Panic", testPanic},
		{"Goexit", testGoexit},
		{"TxEnds", testTxEnds},
		{"Snapshot", testSnapshot},
		{"ReadYourWrites", testReadYourWrites},
		{"Contexts", testContexts},
		{"SharedCommits", testSharedCommits},
		{"FailedNeighbours", testFailedNeighbours},
		{"ReadersBesideWriters", testReadersBesideWriters},
		{"Closed", testClosed},
		{"Model", testModel},
	} {
		t.Run(part.name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			part.test(t, s)
		})
	}
	t.Run("Reopen", func(t *testing.T) { testReopen(t, open(t)) })
}

func update(t *testing.T, s store.Store, f func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), store.Relaxed, f); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t *testing.T, s store.Store, f func(store.Reader) error) {
	t.Helper()
	if err := s.View(t.Context(), f); err != nil {
		t.Fatalf("view: %v", err)
	}
}

// get returns what f reads in its own View.
func get[T any](t *testing.T, s store.Store, f func(store.Reader) (T, error)) T {
	t.Helper()
	var v T
	view(t, s, func(r store.Reader) (err error) {
		v, err = f(r)
		return err
	})
	return v
}

// rowOrZero adapts methods that return whether a row exists; a missing row is the zero value.
func rowOrZero[T any](v T, ok bool, err error) (T, error) {
	var none T
	if !ok {
		return none, err
	}
	return v, err
}

func checkEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: -want +got\n%s", what, d)
	}
}
