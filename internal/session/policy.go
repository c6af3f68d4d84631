package session

// Recovery selects what happens to the work on a prompt after its process ended before the work did.
type Recovery string

// The recoveries. Without one the work resumes.
const (
	RecoveryPause  Recovery = "pause"  // it waits until a person continues the session
	RecoveryResume Recovery = "resume" // the next server resumes it
)

// AskPolicy answers the asks of the work on a prompt without a user: "" (wait for a reply), "deny", "allow", "fail", or
// "wait:" and a duration after which it denies.
type AskPolicy string
