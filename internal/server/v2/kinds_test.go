package v2

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sessiontest"
)

// Streams of all sessions send an event of every kind in some form, but for those that are internal to the log.
func TestFeedOfEveryKind(t *testing.T) {
	internal := map[session.Kind]string{
		session.KindOutputsPruned:    "the next request is not a client's concern",
		session.KindRevertAdvanced:   "the staged revert is sent with its end",
		session.KindFilesWriting:     "what a call writes is in the diff after it",
		session.KindTreeCaptured:     "what a call changed is in the diff after it",
		session.KindTreeChanged:      "what a call changed is in the diff after it",
		session.KindDiffUpdated:      "session.diff is a notice",
		session.KindBudgetSet:        "a budget is shown on request",
		session.KindInstructionFound: "the context is shown on request",
		session.KindContextEntrySet:  "the context is shown on request",
		session.KindContextBased:     "the context is shown on request",
		session.KindItemCheckpointed: "its text was sent as fragments",
		session.KindInterrupted:      "session.error is sent with the end of the work",
		session.KindJobStarted:       "jobs are shown on request",
		session.KindJobEnded:         "jobs are shown on request",
		session.KindMessageRemoved:   "edits are made over V1",
		session.KindMessageEdited:    "edits are made over V1",
		session.KindPartRemoved:      "edits are made over V1",
		session.KindPartEdited:       "edits are made over V1",
		session.KindMessageImported:  "an import is announced when it is whole",
		session.KindMessagesCopied:   "a fork is announced as a creation",
	}
	for _, e := range sessiontest.ReadEvents(t, "../../session/testdata/events.txt") {
		kind := e.Data.Kind()
		_, _, hasForm := e.PublicForm()
		sent := hasForm || kind == session.KindCreated || session.ChangesSession(e.Data)
		if why := internal[kind]; sent == (why != "") {
			t.Errorf("%s: sent %v, reason to leave it out %q; a new kind needs a form, ChangesSession or a reason",
				kind, sent, why)
		}
	}
}
