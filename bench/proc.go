package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ticks is the kernel's USER_HZ, in which /proc/stat and /proc/PID/stat count.
const ticks = 100

// usage is what a process has used so far.
type usage struct {
	cpu     time.Duration // of its live threads
	rss     int64         // bytes
	written int64         // bytes that went to files
	spawned int64         // CPU ticks of children that it waited for: not zero if it ran any
}

func usageOf(pid int) usage {
	var u usage
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well-formed
	for _, t := range tasks {
		u.cpu += time.Duration(number(firstField(t), 0))
	}
	u.rss = number(statm(pid), 1) * int64(os.Getpagesize())
	for line := range strings.Lines(read(fmt.Sprintf("/proc/%d/io", pid))) {
		if v, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			u.written, _ = strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		}
	}
	stat := afterName(read(fmt.Sprintf("/proc/%d/stat", pid)))
	u.spawned = number(stat, 13) + number(stat, 14)
	return u
}

// children counts the processes that the process has started so far and that live.
func children(pid int) int {
	return len(strings.Fields(read(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))))
}

func statm(pid int) []string       { return strings.Fields(read(fmt.Sprintf("/proc/%d/statm", pid))) }
func firstField(p string) []string { return strings.Fields(read(p)) }

func afterName(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

func read(path string) string {
	b, _ := os.ReadFile(path) // a process that is gone has used nothing more
	return string(b)
}

func number(fields []string, i int) int64 {
	if i >= len(fields) {
		return 0
	}
	n, _ := strconv.ParseInt(fields[i], 10, 64)
	return n
}

// peak watches the resident memory of a process.
type peak struct {
	pid  int
	most atomic.Int64
	stop chan struct{}
	done chan struct{}
}

func watch(pid int) *peak {
	p := &peak{pid: pid, stop: make(chan struct{}), done: make(chan struct{})}
	go func() { // ends with end
		defer close(p.done)
		for {
			p.most.Store(max(p.most.Load(), number(statm(pid), 1)*int64(os.Getpagesize())))
			select {
			case <-p.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return p
}

// end returns the peak in MiB.
func (p *peak) end() float64 {
	close(p.stop)
	<-p.done
	return mib(p.most.Load())
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// load is the state of the machine: CPU time that was used, by everybody and by this program and its children.
type load struct {
	at   time.Time
	busy float64 // seconds, of all
	own  float64 // seconds, of this process and of children that it waited for
	kids map[int]float64
}

func readLoad() load {
	l := load{at: time.Now(), kids: map[int]float64{}}
	f := firstField("/proc/stat") // cpu user nice system idle iowait irq softirq steal
	for i := 1; i < len(f) && i <= 8; i++ {
		if i != 4 && i != 5 {
			l.busy += float64(number(f, i)) / ticks
		}
	}
	self := afterName(read("/proc/self/stat"))
	for i := 11; i <= 14; i++ {
		l.own += float64(number(self, i)) / ticks
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is well-formed
	for _, t := range tasks {
		for _, pid := range firstField(t) {
			stat := afterName(read("/proc/" + pid + "/stat"))
			n, _ := strconv.Atoi(pid)
			l.kids[n] = float64(number(stat, 11)+number(stat, 12)+number(stat, 13)+number(stat, 14)) / ticks
		}
	}
	return l
}

// busySince is how many cores all processes used on average.
func (l load) busySince(before load) float64 {
	return (l.busy - before.busy) / max(l.at.Sub(before.at).Seconds(), 0.001)
}

// foreign is how many cores were used since then by processes that are not ours.
func (l load) foreign() float64 {
	now := readLoad()
	own := now.own - l.own
	for pid, cpu := range now.kids {
		own += cpu - l.kids[pid]
	}
	for pid, cpu := range l.kids {
		if _, lives := now.kids[pid]; !lives {
			own -= cpu // its total is part of now.own
		}
	}
	return max(0, (now.busy-l.busy-own)/max(now.at.Sub(l.at).Seconds(), 0.001))
}
