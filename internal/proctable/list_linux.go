package proctable

import (
	"os"
	"strconv"
	"strings"
)

// List returns all processes. One that ends meanwhile may be missing.
func List() []Process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	table := make([]Process, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if p, ok := parseStat(string(stat)); ok {
			table = append(table, p)
		}
	}
	return table
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
