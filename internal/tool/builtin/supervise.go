package builtin

import (
	"errors"
	"strconv"
	"time"
)

// MaxProcesses is how many processes one command may have at the same time, unless the configuration says.
const MaxProcesses = 1024

// order is what a supervisor is told.
type order struct {
	grace     time.Duration
	processes int
	argv      []string
}

// words are the order as arguments of a supervisor.
func (o order) words() []string {
	return append([]string{strconv.FormatInt(o.grace.Milliseconds(), 10), strconv.Itoa(o.processes)}, o.argv...)
}

func superviseArgs(args []string) (order, error) {
	if len(args) < 3 {
		return order{}, errors.New("it needs a time in milliseconds, a number of processes, and a command")
	}
	ms, err := strconv.Atoi(args[0])
	most, err2 := strconv.Atoi(args[1])
	return order{time.Duration(ms) * time.Millisecond, most, args[2:]}, errors.Join(err, err2)
}
