//go:build unix

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

// usage is the resource usage of a process.
type usage struct {
	cpu     time.Duration // CPU time of its live threads
	rss     int64         // bytes
	written int64         // bytes written to files
	spawned int64         // CPU ticks of finished children: not zero if it ran any
}

func usageOf(pid int) usage {
	var u usage
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well-formed
	for _, t := range tasks {
		u.cpu += time.Duration(parseField(firstField(t), 0))
	}
	u.rss = parseField(memoryFields(pid), 1) * int64(os.Getpagesize())
	for line := range strings.Lines(readProcFile(fmt.Sprintf("/proc/%d/io", pid))) {
		if v, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			u.written, _ = strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		}
	}
	stat := afterName(readProcFile(fmt.Sprintf("/proc/%d/stat", pid)))
	u.spawned = parseField(stat, 13) + parseField(stat, 14)
	return u
}

// countChildren returns the number of live child processes.
func countChildren(pid int) int {
	return len(strings.Fields(readProcFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))))
}

func memoryFields(pid int) []string {
	return strings.Fields(readProcFile(fmt.Sprintf("/proc/%d/statm", pid)))
}
func firstField(p string) []string { return strings.Fields(readProcFile(p)) }

func afterName(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

func readProcFile(path string) string {
	b, _ := os.ReadFile(path) // a finished process uses nothing more
	return string(b)
}

func parseField(fields []string, i int) int64 {
	if i >= len(fields) {
		return 0
	}
	n, _ := strconv.ParseInt(fields[i], 10, 64)
	return n
}

// memoryPeak records the peak resident memory of a process.
type memoryPeak struct {
	most atomic.Int64
	stop chan struct{}
	done chan struct{}
}

func watchMemory(pid int) *memoryPeak {
	p := &memoryPeak{stop: make(chan struct{}), done: make(chan struct{})}
	go func() { // ends with finish
		defer close(p.done)
		for {
			p.most.Store(max(p.most.Load(), parseField(memoryFields(pid), 1)*int64(os.Getpagesize())))
			select {
			case <-p.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return p
}

// finish ends the recording and returns the peak in MiB.
func (p *memoryPeak) finish() float64 {
	close(p.stop)
	<-p.done
	return toMiB(p.most.Load())
}

func toMiB(n int64) float64 { return float64(n) / (1 << 20) }

// machineLoad is the CPU time used so far by all processes and by this program with its children.
type machineLoad struct {
	at   time.Time
	busy float64 // seconds of all processes
	own  float64 // seconds of this process and its finished children
	kids map[int]float64
}

func readLoad() machineLoad {
	l := machineLoad{at: time.Now(), kids: map[int]float64{}}
	f := firstField("/proc/stat") // cpu user nice system idle iowait irq softirq steal
	for i := 1; i < len(f) && i <= 8; i++ {
		if i != 4 && i != 5 {
			l.busy += float64(parseField(f, i)) / ticks
		}
	}
	self := afterName(readProcFile("/proc/self/stat"))
	for i := 11; i <= 14; i++ {
		l.own += float64(parseField(self, i)) / ticks
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is well-formed
	for _, t := range tasks {
		for _, pid := range firstField(t) {
			stat := afterName(readProcFile("/proc/" + pid + "/stat"))
			n, _ := strconv.Atoi(pid)
			l.kids[n] = float64(parseField(stat, 11)+parseField(stat, 12)+parseField(stat, 13)+parseField(stat, 14)) / ticks
		}
	}
	return l
}

// busySince returns the average number of cores used by all processes.
func (l machineLoad) busySince(before machineLoad) float64 {
	return (l.busy - before.busy) / max(l.at.Sub(before.at).Seconds(), 0.001)
}

// foreignSince returns the average number of cores used by other processes.
func (l machineLoad) foreignSince() float64 {
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
