package exec

import (
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	countEvery = 100 * time.Millisecond
	countShare = 20 // of the time, one part of so many is spent on counting
)

// watchProcessLimit reports how many processes this one has below it as soon as they are more than most. It looks ten
// times a second, or less often where that takes long, until done is closed.
func watchProcessLimit(most int, done <-chan struct{}) <-chan int {
	found := make(chan int, 1)
	go func() { // ends with done, or once it found them
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

// countSystemTasks is how many there are in the whole system, which costs nearly nothing to know.
func countSystemTasks() int {
	load, err := os.ReadFile("/proc/loadavg") // 0.20 0.18 0.12 1/80 11206
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
