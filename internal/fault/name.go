package fault

import "slices"

// Name is the name of a point. Every name passed to Point is declared in this file and listed in AllNames; an
// unknown name in a spec is an error.
type Name string

// The points, by package area.
const (
	// The store, around a commit that may carry many transactions.
	StorePreCommit  Name = "store.pre_commit"  // all transactions of the batch ran; an error fails the commit
	StorePostCommit Name = "store.post_commit" // committed, not answered yet; an error makes the outcome uncertain
	StorePreAnswer  Name = "store.pre_answer"  // before each transaction of the batch is answered

	// Admission of a prompt.
	AdmitBegin      Name = "admit.begin"
	AdmitPreCommit  Name = "admit.pre_commit"
	AdmitPostCommit Name = "admit.post_commit"
	AdmitPreAck     Name = "admit.pre_ack"

	// Promotion of admitted prompts.
	PromotePreCommit  Name = "promote.pre_commit"
	PromotePostCommit Name = "promote.post_commit"

	// A provider turn.
	TurnPreDispatch Name = "turn.pre_dispatch"
	TurnHeaders     Name = "turn.headers"
	TurnDelta       Name = "turn.delta"
	TurnFinish      Name = "turn.finish"
	TurnPreSettle   Name = "turn.pre_settle"

	// A tool call.
	ToolPreStarted Name = "tool.pre_started"
	ToolStarted    Name = "tool.started"
	ToolExec       Name = "tool.exec"
	ToolExit       Name = "tool.exit"
	ToolBounded    Name = "tool.bounded"
	ToolPreSettle  Name = "tool.pre_settle"
	ToolSettled    Name = "tool.settled"

	// Permission.
	PermAsked   Name = "perm.asked"
	PermReplied Name = "perm.replied"

	// Deletion of a session.
	DeletePostCommit Name = "delete.post_commit" // its rows are deleted, the files with its tools' output are not
	RevertPlanned    Name = "revert.planned"     // a revert or its reversal is durable, no file is changed
	RevertRestored   Name = "revert.restored"    // its files are changed, and that is not durable

	// Compaction.
	CompactStart     Name = "compact.start"
	CompactSummary   Name = "compact.summary"
	CompactPreSwitch Name = "compact.pre_switch"
	CompactSwitched  Name = "compact.switched"

	// The removal of a linked worktree of git, between its steps.
	WorktreeRemove Name = "worktree.remove"

	// Event streams.
	SSEReplay Name = "sse.replay"
	SSELive   Name = "sse.live"
	SSEFlush  Name = "sse.flush"
)

// AllNames returns all names, so that a test can list points that were never passed.
func AllNames() []Name {
	return []Name{
		StorePreCommit, StorePostCommit, StorePreAnswer,
		AdmitBegin, AdmitPreCommit, AdmitPostCommit, AdmitPreAck,
		PromotePreCommit, PromotePostCommit,
		TurnPreDispatch, TurnHeaders, TurnDelta, TurnFinish, TurnPreSettle,
		ToolPreStarted, ToolStarted, ToolExec, ToolExit, ToolBounded, ToolPreSettle, ToolSettled,
		PermAsked, PermReplied,
		DeletePostCommit, RevertPlanned, RevertRestored,
		CompactStart, CompactSummary, CompactPreSwitch, CompactSwitched,
		WorktreeRemove,
		SSEReplay, SSELive, SSEFlush,
	}
}

func isKnown(n Name) bool { return slices.Contains(AllNames(), n) }
