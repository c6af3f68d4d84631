package engine

import (
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/engine/job"
)

// Outputs are the managed files that hold the output of tools.
type Outputs interface {
	command.OutputRemover
	job.OutputReader
}
