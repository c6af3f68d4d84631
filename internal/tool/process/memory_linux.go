package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// Memory returns the bytes of memory that the program uses with the processes below it: the sum of their resident sets,
// in which shared pages count more than once.
func (p *Process) Memory() int64 {
	var pages int64
	for pid := range addDescendants(proctable.List(), map[int]bool{p.cmd.Process.Pid: true}) {
		statm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
		if fields := strings.Fields(string(statm)); err == nil && len(fields) > 1 {
			resident, _ := strconv.ParseInt(fields[1], 10, 64)
			pages += resident
		}
	}
	return pages * int64(os.Getpagesize())
}
