package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool/process"
)

// maxOutput bounds the standard output of a command in bytes; one that writes more is ended, and has failed.
const maxOutput = 1 << 20

// Run is what came of one run of a command.
type Run struct {
	Exit   int    `json:"exit"`
	Output string `json:"output"` // standard output
	Errors string `json:"errors"` // the end of standard error
}

// run runs the command with the input. An error says why it came to no end of its own.
func (c *command) run(ctx context.Context, input jsontext.Value) (Run, error) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return Run{}, fmt.Errorf("there is no shell: %w", err)
	}
	o := c.set.options
	project := c.set.projectDirectory()
	return RunProgram(ctx, process.Spec{
		Argv: []string{shell, "-c", c.Command}, Dir: o.Directory,
		Env:        append(o.Environment.List(), "CLAUDE_PROJECT_DIR="+project, "CAIRN_PROJECT_DIR="+project),
		Supervisor: o.Supervisor,
	}, input)
}

// RunProgram runs a program with the input until it ends, writes too much, or ctx ends; then it ends what the program
// left behind. An error says why it came to no end of its own.
func RunProgram(ctx context.Context, spec process.Spec, input jsontext.Value) (Run, error) {
	// Start it. It gets the input, and then the end of its standard input, so that it never waits for more.
	spec.Processes = process.MaxProcesses
	child, err := process.StartChild(spec)
	if err != nil {
		return Run{}, fmt.Errorf("it could not be started: %w", err)
	}
	defer child.CloseWithin(0)
	go func() {
		_, _ = child.In.Write(input) // it may not read it
		_ = child.In.Close()
	}()
	// Read its output up to the limit.
	type result struct {
		text    []byte
		isLarge bool
	}
	read := make(chan result, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(child.Out, maxOutput+1)) // ends with the pipe
		read <- result{text[:min(len(text), maxOutput)], len(text) > maxOutput}
	}()
	large := errors.New("its output has more than 1 MiB")
	var out result
	hasOutput := false
	// Wait for its end, for too much output, or for the end of its time.
	for {
		select {
		case out = <-read:
			if out.isLarge {
				child.Stop(0)
				return Run{}, large
			}
			read, hasOutput = nil, true
			continue
		case <-child.Done():
		case <-ctx.Done():
			child.Stop(0)
			return Run{}, fmt.Errorf("it did not answer in time: %w", context.Cause(ctx))
		}
		break
	}
	// End what it left behind, which may hold its output open. What is out of reach may hold it for a second.
	child.Stop(0)
	if !hasOutput {
		held := time.AfterFunc(time.Second, func() { _ = child.Out.Close() })
		out = <-read
		held.Stop()
	}
	if out.isLarge {
		return Run{}, large
	}
	code, _ := child.ExitStatus()
	return Run{code, string(out.text), strings.TrimSpace(child.ReadErrors())}, nil
}
