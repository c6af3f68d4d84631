package exec

import (
	"errors"
	"strconv"
	"time"
)

// MaxProcesses is the default limit of the processes of one command at a time.
const MaxProcesses = 1024

// supervisorOrder is the work of a supervisor.
type supervisorOrder struct {
	grace     time.Duration
	processes int
	mark      uint64 // call mark of the command (proctable.NewCallMark)
	argv      []string
}

// encodeArgs returns the order as arguments for a supervisor.
func (o supervisorOrder) encodeArgs() []string {
	return append([]string{
		strconv.FormatInt(o.grace.Milliseconds(), 10), strconv.Itoa(o.processes), strconv.FormatUint(o.mark, 10),
	}, o.argv...)
}

func parseOrder(args []string) (supervisorOrder, error) {
	if len(args) < 4 {
		return supervisorOrder{}, errors.New(
			"it needs a time in milliseconds, a number of processes, a call mark, and a command",
		)
	}
	ms, err := strconv.Atoi(args[0])
	most, err2 := strconv.Atoi(args[1])
	mark, err3 := strconv.ParseUint(args[2], 10, 64)
	return supervisorOrder{time.Duration(ms) * time.Millisecond, most, mark, args[3:]}, errors.Join(err, err2, err3)
}
