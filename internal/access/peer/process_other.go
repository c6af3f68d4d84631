//go:build !linux

package peer

import "net"

// ConnectedProcess is empty: this system does not say which process connected.
type ConnectedProcess struct{ PID int }

// Close does nothing.
func (ConnectedProcess) Close() {}

// ReadCredentials trusts the mode of the socket and of its directory: only our user can connect.
func ReadCredentials(*net.UnixConn) (h ConnectedProcess, sameUser bool) { return h, true }

// CheckMark returns nil: other systems have no marks.
func (ConnectedProcess) CheckMark() error { return nil }

func lacksDescriptors() bool { return false }

// procFS knows no processes on these systems. Callers over the socket are of the same user, and also a tool's process
// is one; TCP callers need a credential, or OpenLocal.
type procFS struct{}

func newProcFS() procFS { return procFS{} }

func (procFS) identifyProcess(ConnectedProcess, func(int) bool) Identity { return User }

func (procFS) identifyHolder(_, _ net.Addr, _ func(int) bool) Identity { return Remote }
