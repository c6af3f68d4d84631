//go:build unix

package trust

import "syscall"

// nonblock makes opening return at once, whatever the file has become.
const nonblock = syscall.O_NONBLOCK
