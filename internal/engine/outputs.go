package engine

import (
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/job"
)

// Outputs are the managed files that hold the output of tools.
type Outputs interface {
	admit.OutputRemover
	job.OutputReader
}
