package proctable

import (
	"os"
	"strconv"
	"strings"
)

// namesAtOnce is the number of directory entries that are read at a time.
const namesAtOnce = 128

// List returns all processes. A process that ends during the call may be missing, but not the processes it started:
// entries come in the order of their PIDs, and a process is read before the entries behind it, so that the PID of its
// child is still ahead. Only a child whose PID wrapped around can be missing.
func List() []Process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	table := make([]Process, 0, namesAtOnce)
	for {
		names, err := dir.Readdirnames(namesAtOnce)
		for _, name := range names {
			if p, ok := readProcess(name); ok {
				table = append(table, p)
			}
		}
		if err != nil { // io.EOF, or /proc cannot be read
			return table
		}
	}
}

// ReadParent returns the parent of a process, 0 for one that has none or does not exist.
func ReadParent(pid int) int {
	p, _ := readProcess(strconv.Itoa(pid))
	return p.Parent
}

// readProcess reads an entry of /proc; ok is false if it is not a process.
func readProcess(name string) (Process, bool) {
	if name[0] < '0' || name[0] > '9' {
		return Process{}, false
	}
	stat, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return Process{}, false
	}
	return parseStat(string(stat))
}

// parseStat parses the beginning of /proc/PID/stat. The process name may contain any character, also brackets.
func parseStat(s string) (Process, bool) {
	pid, rest, ok := strings.Cut(s, " (")
	i := strings.LastIndex(rest, ") ")
	if !ok || i < 0 {
		return Process{}, false
	}
	f := strings.Fields(rest[i+2:])
	if len(f) < 4 {
		return Process{}, false
	}
	p := Process{Dead: f[0] == "Z" || f[0] == "X"}
	for j, to := range []*int{&p.PID, &p.Parent, &p.Group, &p.Session} {
		text := pid
		if j > 0 {
			text = f[j]
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return Process{}, false
		}
		*to = n
	}
	return p, true
}
