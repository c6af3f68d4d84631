package sandboxtest

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restartFiltered executes this program again under the filter. It returns only if that failed.
func restartFiltered() error {
	runtime.LockOSThread()
	if err := refuseNamespaces(); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

// refuseNamespaces makes clone, clone3, unshare and mount fail for this thread and what it executes.
func refuseNamespaces() error {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	refuse := func(errno unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	program := []unix.SockFilter{
		load(0),
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), refuse(unix.ENOSYS),
		jump(unix.BPF_JEQ, unix.SYS_UNSHARE, 0, 1), refuse(unix.EPERM),
		jump(unix.BPF_JEQ, unix.SYS_MOUNT, 0, 1), refuse(unix.EPERM),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 3),
		load(16), jump(unix.BPF_JSET, namespaces, 0, 1), refuse(unix.EPERM),
		allow,
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0)
}
