package describe

import "github.com/cairn-dev/cairn/internal/session"

// DescribeEvent returns the line about an event of a compaction, a move, or files that another session changed as well; ""
// for any other event.
func DescribeEvent(d session.EventData) string {
	switch d := d.(type) {
	case *session.CompactionStarted:
		switch {
		case d.Reason == session.CompactionManual:
			return "the history is being summarised, as requested"
		case d.Overflow:
			return "the history is being summarised, because the provider rejected the request as too large"
		}
		return "the history is being summarised, because the next request would not fit the model's window"
	case *session.CompactionEnded:
		return DescribeCompaction(d)
	case *session.CompactionFailed:
		return DescribeCompactionFailure(d)
	case *session.CompactionUndone:
		return CompactionUndone
	case *session.Moved:
		return "the session goes on in " + d.Location.Directory
	case *session.ContextEntrySet:
		return describeAddedFiles(d.ContextEntry)
	default:
		return ""
	}
}
