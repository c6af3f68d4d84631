package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArchitectures are the architectures whose system calls the filter knows.
var auditArchitectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Check returns nil if this system can enforce a Policy completely, else the reason why not.
func Check() error {
	if auditArchitectures[runtime.GOARCH] == 0 {
		return fmt.Errorf("the sandbox does not support the architecture %s", runtime.GOARCH)
	}
	// Landlock confines files; an error says whether the kernel lacks it or has it switched off.
	version, err := landlockVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return errors.New("this kernel has no Landlock; Linux has it from 5.13 on, if it is built in")
	case errors.Is(err, unix.EOPNOTSUPP):
		return errors.New("this kernel has Landlock switched off; see its boot parameter lsm=")
	case err != nil:
		return fmt.Errorf("landlock: %w", err)
	case version < minLandlockVersion:
		return fmt.Errorf(
			"this kernel's Landlock is of version %d, and %d is needed (Linux 6.2)", version, minLandlockVersion,
		)
	}
	// seccomp filters system calls. Asking for an action does not change this process.
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(
		unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)),
	); errno != 0 {
		return fmt.Errorf("this kernel does not filter system calls (seccomp): %w", errno)
	}
	return nil
}

// CheckSignals returns nil if this system keeps commands in the sandbox from sending signals to processes outside, else
// the reason why not. Check does not require it.
func CheckSignals() error {
	if version, err := landlockVersion(); err != nil || version < signalVersion {
		return fmt.Errorf("this kernel's Landlock is of version %d, and %d is needed (Linux 6.12)", version, signalVersion)
	}
	return nil
}

// Offsets of the fields of seccomp_data: the call's number, the architecture, and the low halves of its first two
// arguments.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16
	atSecond = 24
)

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// refusedCalls are system calls that no command may make: they bypass the filter or reach into the kernel.
var refusedCalls = []uint32{
	// io_uring opens connections without the filter
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, // the user's keys
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	// other namespaces and mounts; without clone3 the C library uses clone, whose flags the filter sees
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CLONE3, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_CHROOT, unix.SYS_OPEN_BY_HANDLE_AT,
	// shared with all processes of the user, without a file that Landlock could restrict
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY,
	unix.SYS_MQ_GETSETATTR,
}

// restrictCalls restricts this thread by a seccomp filter.
func (p Policy) restrictCalls() error {
	program := p.buildFilter(auditArchitectures[runtime.GOARCH])
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// buildFilter returns the filter program. Without Network it allows no sockets, not even local ones, and with
// NoLocalSockets all but these: a program that listens on one acts for its client. Socket pairs are allowed, except
// datagram and raw ones, which can be connected to other sockets. A process may only set its own resource limits: a
// limit on CPU time would end another process.
func (p Policy) buildFilter(machine uint32) []unix.SockFilter {
	program := []unix.SockFilter{loadWord(atArch)}
	program = append(program, ifNotEqual(machine, returnErrno(unix.ENOSYS))...)
	program = append(program, loadWord(atNumber))
	if machine == unix.AUDIT_ARCH_X86_64 {
		// x32 uses other numbers
		program = append(program, jumpIf(unix.BPF_JGE, 0x40000000, 0, 1), returnErrno(unix.ENOSYS))
	}
	for _, number := range refusedCalls {
		program = append(program, ifEqual(number, returnErrno(unix.ENOSYS))...)
	}
	program = append(program, jumpIf(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 4),
		loadWord(atFirst), jumpIf(unix.BPF_JEQ, 0, 0, 1), returnAction(unix.SECCOMP_RET_ALLOW), returnErrno(unix.EPERM))
	for _, number := range []uint32{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} { // of this process only
		program = append(program, jumpIf(unix.BPF_JEQ, number, 0, 4),
			loadWord(atSecond), jumpIf(unix.BPF_JEQ, 0, 0, 1), returnAction(unix.SECCOMP_RET_ALLOW), returnErrno(unix.EPERM))
	}
	program = append(program, jumpIf(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		loadWord(atFirst), jumpIf(unix.BPF_JSET, newNamespaces, 0, 1), returnErrno(unix.EPERM),
		returnAction(unix.SECCOMP_RET_ALLOW))
	switch {
	case !p.Network:
		program = append(program, ifEqual(unix.SYS_SOCKET, returnErrno(unix.EACCES))...)
	case p.NoLocalSockets:
		program = append(program, jumpIf(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 4),
			loadWord(atFirst), jumpIf(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), returnErrno(unix.EACCES),
			returnAction(unix.SECCOMP_RET_ALLOW))
	}
	if !p.Network || p.NoLocalSockets {
		program = append(program, jumpIf(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 0, 6),
			loadWord(atSecond), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf})
		program = append(program, ifEqual(unix.SOCK_DGRAM, returnErrno(unix.EACCES))...)
		program = append(program, ifEqual(unix.SOCK_RAW, returnErrno(unix.EACCES))...)
	}
	return append(program, returnAction(unix.SECCOMP_RET_ALLOW))
}

func loadWord(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jumpIf(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func returnAction(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func returnErrno(errno unix.Errno) unix.SockFilter {
	return returnAction(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

// ifEqual returns instructions that run then if the loaded value is k; ifNotEqual, if it is not.
func ifEqual(k uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{jumpIf(unix.BPF_JEQ, k, 0, 1), then}
}

func ifNotEqual(k uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{jumpIf(unix.BPF_JEQ, k, 1, 0), then}
}
