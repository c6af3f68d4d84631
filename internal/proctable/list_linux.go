package proctable

import (
	"os"
	"strconv"
	"strings"
)

// namesAtOnce is how many names are read before the processes that they name.
const namesAtOnce = 128

// List returns all processes. One that ends meanwhile may be missing, but not what it started: names come in the order of
// their numbers, and a process is read before the names behind it are, so that what it forked is still ahead. Only where
// numbers begin anew from below can a young one be missed.
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
		if err != nil { // io.EOF, or it cannot be read
			return table
		}
	}
}

// readProcess reads what is named in /proc, which need not be a process.
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

// parseStat reads the beginning of /proc/PID/stat. The name in it may hold anything, brackets too.
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
