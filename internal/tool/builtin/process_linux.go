package builtin

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// attributes: a session of its own, so that there is no terminal to ask at and the whole group can be signalled; and
// the command ends with us, should we be killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// detached is for a supervisor: a session of its own. It ends by its lifeline, after having cleaned up.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// proc is one line of the process table.
type proc struct {
	pid, parent, group, session int
	dead                        bool
}

// strays returns what the command started and what left its group: by parentage, by session, or by the mark in the
// environment, which finds those that were handed to init.
func (p *process) strays() []int {
	leader := p.cmd.Process.Pid
	table := processes()
	ours := map[int]bool{leader: true}
	for _, q := range table {
		if q.session == leader || q.group == leader || p.marked(q) {
			ours[q.pid] = true
		}
	}
	closure(table, ours)
	var strays []int
	for _, q := range table {
		if ours[q.pid] && q.group != leader && !q.dead {
			strays = append(strays, q.pid)
		}
	}
	return strays
}

// closure adds to ours every process that one of ours started.
func closure(table []proc, ours map[int]bool) map[int]bool {
	for grown := true; grown; {
		grown = false
		for _, q := range table {
			if !ours[q.pid] && ours[q.parent] {
				ours[q.pid], grown = true, true
			}
		}
	}
	return ours
}

// groupAlive reports whether anything but zombies is in the command's group.
func (p *process) groupAlive() bool {
	leader := p.cmd.Process.Pid
	return slices.ContainsFunc(processes(), func(q proc) bool { return q.group == leader && !q.dead })
}

func (p *process) marked(q proc) bool {
	if q.dead || q.pid == os.Getpid() {
		return false
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(q.pid), "environ"))
	return err == nil && bytes.Contains(env, []byte(p.mark))
}

func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	table := make([]proc, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if q, ok := parseStat(string(stat)); ok {
			table = append(table, q)
		}
	}
	return table
}

// parseStat reads the beginning of /proc/PID/stat. The name in it may hold anything, brackets too.
func parseStat(s string) (proc, bool) {
	pid, rest, ok := strings.Cut(s, " (")
	i := strings.LastIndex(rest, ") ")
	if !ok || i < 0 {
		return proc{}, false
	}
	f := strings.Fields(rest[i+2:])
	if len(f) < 4 {
		return proc{}, false
	}
	q := proc{dead: f[0] == "Z" || f[0] == "X"}
	for j, to := range []*int{&q.pid, &q.parent, &q.group, &q.session} {
		text := pid
		if j > 0 {
			text = f[j]
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return proc{}, false
		}
		*to = n
	}
	return q, true
}
