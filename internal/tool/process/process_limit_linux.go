package process

import (
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	countEvery = 100 * time.Millisecond
	countShare = 20 // counting takes at most one part in 20 of the time
)

// watchProcessLimit counts the descendants of this process and sends their number once it exceeds most. It counts every
// 100 ms, or less often if counting takes long, until done is closed.
func watchProcessLimit(most int, done <-chan struct{}) <-chan int {
	found := make(chan int, 1)
	go func() { // ends when done is closed, or after it sent the number
		pause := countEvery
		for {
			select {
			case <-done:
				return
			case <-time.After(pause):
			}
			start := time.Now()
			if countSystemTasks() > most {
				if n := len(listDescendants(os.Getpid())); n > most {
					found <- n
					return
				}
			}
			pause = max(countEvery, countShare*time.Since(start))
		}
	}()
	return found
}

// countSystemTasks returns the number of tasks of the whole system, which is much cheaper than a list of processes.
func countSystemTasks() int {
	load, err := os.ReadFile("/proc/loadavg") // e.g. 0.20 0.18 0.12 1/80 11206
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(load))
	if len(fields) < 4 {
		return 0
	}
	_, all, _ := strings.Cut(fields[3], "/")
	n, err := strconv.Atoi(all)
	if err != nil {
		return 0
	}
	return n
}
