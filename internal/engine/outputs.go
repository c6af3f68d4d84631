package engine

import (
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/task"
)

// Outputs are the managed files that hold the output of tools.
type Outputs interface {
	admit.OutputRemover
	task.OutputReader
}
