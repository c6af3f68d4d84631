// Package proctable reads the process table. It is empty on systems other than Linux.
package proctable

// Process is an entry of the process table.
type Process struct {
	PID, Parent, Group, Session int
	Dead                        bool // ended, but not waited for
}
