// Package proctable reads the system's table of processes, where it can: on Linux. Elsewhere the table is empty, and who
// asks does without.
package proctable

// Process is one line of the table.
type Process struct {
	PID, Parent, Group, Session int
	Dead                        bool // nobody has waited for it yet
}
