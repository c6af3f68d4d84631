package session

// Recovery selects what happens to the work on a prompt after its process ended before the work did.
type Recovery string

// The recoveries. Without one the work resumes.
const (
	RecoveryPause  Recovery = "pause"  // it waits until a person continues the session
	RecoveryResume Recovery = "resume" // the next server resumes it
)

// AskPolicy answers the asks of the work on a prompt without a user: "" (wait for a reply), "deny", "allow", "edits"
// (allow changes of files, wait for all other replies), "fail", or "wait:" and a duration after which it denies.
type AskPolicy string

// Allows reports whether the policy allows anything without a person.
func (p AskPolicy) Allows() bool { return p == "allow" || p == "edits" }
