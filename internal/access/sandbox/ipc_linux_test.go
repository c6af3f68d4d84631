package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// meet tries to use an IPC object of a process outside: shared memory, a message queue, a semaphore.
func meet(what, target string) error {
	id, _ := strconv.Atoi(target)
	var errno unix.Errno
	switch what {
	case "shmget":
		_, _, errno = unix.Syscall(unix.SYS_SHMGET, uintptr(id), 4096, 0)
	case "shmat":
		_, _, errno = unix.Syscall(unix.SYS_SHMAT, uintptr(id), 0, 0)
	case "shmctl":
		var d unix.SysvShmDesc
		_, _, errno = unix.Syscall(unix.SYS_SHMCTL, uintptr(id), unix.IPC_STAT, uintptr(unsafe.Pointer(&d)))
	case "msgget":
		_, _, errno = unix.Syscall(unix.SYS_MSGGET, uintptr(id), 0, 0)
	case "msgsnd":
		message := struct {
			kind int64
			text [8]byte
		}{kind: 1}
		_, _, errno = unix.Syscall6(unix.SYS_MSGSND, uintptr(id), uintptr(unsafe.Pointer(&message)), 8, unix.IPC_NOWAIT, 0, 0)
	case "semget":
		_, _, errno = unix.Syscall(unix.SYS_SEMGET, uintptr(id), 1, 0)
	case "semop":
		up := struct {
			number uint16
			op     int16
			flags  int16
		}{op: 1}
		_, _, errno = unix.Syscall(unix.SYS_SEMOP, uintptr(id), uintptr(unsafe.Pointer(&up)), 1)
	case "mq_open":
		name, _ := unix.BytePtrFromString(target)
		_, _, errno = unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_RDWR, 0, 0, 0, 0)
	case "mq_unlink":
		name, _ := unix.BytePtrFromString(target)
		_, _, errno = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
	default:
		return fmt.Errorf("no way %s", what)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// meetings returns IPC objects of this process, as kind and target.
func meetings(t *testing.T) [][2]string {
	t.Helper()
	key := uintptr(os.Getpid())<<4 | 7
	make := func(number uintptr, size uintptr, flags uintptr) uintptr {
		id, _, errno := unix.Syscall(number, key, size, flags|unix.IPC_CREAT|0o666)
		if errno != 0 {
			t.Skip("this system has no such thing: ", errno)
		}
		return id
	}
	shared, queue, semaphore := make(unix.SYS_SHMGET, 4096, 0), make(
		unix.SYS_MSGGET, unix.IPC_CREAT|0o666, 0,
	), make(unix.SYS_SEMGET, 1, 0)
	t.Cleanup(func() {
		_, _, _ = unix.Syscall(unix.SYS_SHMCTL, shared, unix.IPC_RMID, 0)
		_, _, _ = unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0)
		_, _, _ = unix.Syscall(unix.SYS_SEMCTL, semaphore, 0, unix.IPC_RMID)
	})
	ways := [][2]string{
		{"shmget", fmt.Sprint(key)},
		{"shmat", fmt.Sprint(shared)},
		{"shmctl", fmt.Sprint(shared)},
		{"msgget", fmt.Sprint(key)},
		{"msgsnd", fmt.Sprint(queue)},
		{"semget", fmt.Sprint(key)},
		{"semop", fmt.Sprint(semaphore)},
	}
	name := fmt.Sprint("cairn-test-", os.Getpid())
	pointer, _ := unix.BytePtrFromString(name)
	fd, _, errno := unix.Syscall6(
		unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(pointer)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0,
	)
	if errno == 0 {
		_ = unix.Close(int(fd))
		t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(pointer)), 0, 0) })
		ways = append(ways, [2]string{"mq_open", name}, [2]string{"mq_unlink", name})
	}
	return ways
}

// System V IPC objects of processes outside are unreachable in the sandbox, and reachable without it.
func TestIPCOutsideIsUnreachable(t *testing.T) {
	c := newCell(t)
	ways := meetings(t)
	for _, network := range []bool{false, true} {
		c.policy.Network = network
		for _, way := range ways {
			if got := c.run(
				t, fmt.Sprintf("exec \"$EXE\" %s %s %s", probeWord, way[0], way[1]), "EXE="+self(t),
			); !strings.Contains(got, unix.ENOSYS.Error()) {
				t.Errorf("%s, network %v: %s", way[0], network, got)
			}
		}
	}
	for _, way := range ways {
		out, err := exec.Command(self(t), probeWord, way[0], way[1]).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "<nil>" {
			t.Errorf("%s is impossible without the sandbox, too: %s", way[0], out)
		}
	}
}

// Named shared memory is a file, and cannot be written outside.
func TestSharedMemoryOutsideIsNotWritten(t *testing.T) {
	c := newCell(t)
	f, err := os.CreateTemp("/dev/shm", "cairn-test-")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no /dev/shm")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	if _, err := f.WriteString("mine"); err != nil {
		t.Fatal(err)
	}
	c.run(
		t, `echo yours > "$SHARED"; echo yours >> "$SHARED"; : > "$SHARED"; rm "$SHARED"; echo x > "$SHARED-2"`,
		"SHARED="+f.Name(),
	)
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != "mine" {
		t.Errorf("%q, %v", got, err)
	}
	if left, _ := filepath.Glob(f.Name() + "-*"); len(left) > 0 {
		t.Errorf("%s was made", left)
	}
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}
