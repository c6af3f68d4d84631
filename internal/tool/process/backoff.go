package process

import "time"

// Backoff decides when a child that ended may be started again: after a pause that doubles with
// each failure; a long life before ends the doubling. The zero value allows a start.
type Backoff struct {
	failures int
	next     time.Time
}

// A child that lived for steadyTime did not fail; maxPause bounds the pause.
const (
	steadyTime = time.Minute
	firstPause = time.Second
	maxPause   = 5 * time.Minute
)

// Note records that a child which was started at began has ended, or could not be started, now.
func (b *Backoff) Note(began, now time.Time) {
	if now.Sub(began) >= steadyTime {
		b.failures = 0
	}
	pause := min(firstPause<<min(b.failures, 20), maxPause)
	b.failures++
	b.next = now.Add(pause)
}

// Reset allows a start at once, as a person asked for one.
func (b *Backoff) Reset() { *b = Backoff{} }

// Next returns when a start is allowed; the zero time means at once.
func (b *Backoff) Next() time.Time { return b.next }
