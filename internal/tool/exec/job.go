package exec

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	jobWait  = time.Minute // default of the action wait
	jobLines = 50          // default of the actions logs and wait
	jobBytes = 32 << 10    // of the end of a log that are read
)

//go:embed job.md
var jobDescription string

const jobSchema = `{"type":"object","properties":{
"action":{"type":"string","enum":["list","get","logs","wait","cancel"],"description":"What to do"},
"id":{"type":"string","description":"The job"},
"timeout":{"type":"integer","minimum":1,"maximum":600000,"description":"Milliseconds to wait"},
"lines":{"type":"integer","minimum":1,"maximum":1000,"description":"Lines of the log"}
},"required":["action"],"additionalProperties":false}`

// startJob starts the command as a job of the session.
func startJob(ctx context.Context, call tool.Call, r command, in bashInput) (tool.Output, error) {
	if call.Jobs == nil {
		return tool.Output{}, tool.Failf("Nothing can run in the background here.")
	}
	// The whole output is kept in a file from the start: job logs are read while the command runs.
	path, err := r.output.capture.KeepAll()
	if err != nil {
		return tool.Output{}, tool.Failf("The job was not started: its output cannot be kept: %v.",
			workpath.FileErrorCause(err))
	}
	// Without a timeout of its own a job has none.
	r.Watch = true
	if in.Timeout == 0 {
		r.timeout = 0
	}
	// Start it. A job that did not start leaves no file.
	job := session.Job{Command: in.Command, Description: in.Description, Directory: r.Dir, OutputPath: path}
	job, err = call.Jobs.Start(ctx, job, tool.Work{Run: r.runJob, ReadTail: r.output.readRecent})
	if err != nil {
		r.output.finishCapture(ctx)
		_ = os.Remove(path)
		return tool.Output{}, err
	}
	text := fmt.Sprintf(
		"The command runs as job %s. Its output goes to %s. The tool job shows it, waits for it and ends it.", job.ID, path,
	)
	out := tool.TextOutput(in.Command, text, map[string]any{"job": job})
	out.OutputPaths = []string{path}
	return out, nil
}

// runJob runs the command as the work of a job.
func (r command) runJob(ctx context.Context) tool.JobEnd {
	done, err := r.execute(ctx, func(string) {})
	if err != nil {
		r.output.finishCapture(ctx)
		return tool.JobEnd{Error: err.Error()}
	}
	return tool.JobEnd{Exit: &done.exit, TimedOut: done.timedOut}
}

type jobTool struct{}

type jobInput struct {
	Action  string        `json:"action"`
	ID      session.JobID `json:"id"`
	Timeout int64         `json:"timeout"`
	Lines   int           `json:"lines"`
}

// Definition describes the tool.
func (jobTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "job", Description: strings.TrimSpace(jobDescription), Schema: jsontext.Value(jobSchema), Bounded: true,
	}
}

// Run runs the action.
func (jobTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[jobInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	switch {
	case call.Jobs == nil:
		return tool.Output{}, tool.Failf("Nothing runs in the background here.")
	case in.Action == "list":
		return listJobs(ctx, call.Jobs)
	case in.ID == "":
		return tool.Output{}, tool.Failf("The action %s needs the id of a job; the action list shows them.", in.Action)
	}
	// A list shows no output and needs no permission; every action on a job needs one.
	if err := call.Ask(
		ctx,
		tool.Request{
			Action: "job", Resources: []string{in.Action}, Save: []string{in.Action},
			Metadata: tool.EncodeObject(map[string]any{"job": in.ID}),
		},
	); err != nil {
		return tool.Output{}, err
	}
	return in.runAction(ctx, call)
}

// runAction runs an action on one job and returns the job's state afterwards.
func (in jobInput) runAction(ctx context.Context, call tool.Call) (tool.Output, error) {
	jobs := call.Jobs
	// Choose the action. A wait of no length reads the state.
	wait := time.Duration(0)
	if in.Action == "wait" {
		wait = jobWait
		if in.Timeout > 0 {
			wait = time.Duration(in.Timeout) * time.Millisecond
		}
	}
	act := func() (session.Job, error) { return jobs.Wait(ctx, in.ID, wait) }
	if in.Action == "cancel" {
		act = func() (session.Job, error) { return jobs.Cancel(ctx, in.ID) }
	}
	job, err := act()
	if err != nil {
		return tool.Output{}, err
	}
	// Add the output where the action asks for it. A task has no output but a report.
	text := formatJob(job)
	switch {
	case in.Action != "logs" && in.Action != "wait":
	case job.Task != nil:
		text += "\n\n(the report of a task comes as a message)"
	default:
		text += "\n\n" + tool.MarkImitations(call, "output of the job", in.readLog(jobs, job))
	}
	return tool.TextOutput(in.Action+" "+string(job.ID), text, map[string]any{"job": job}), nil
}

func listJobs(ctx context.Context, jobs tool.Jobs) (tool.Output, error) {
	all, err := jobs.List(ctx)
	if err != nil {
		return tool.Output{}, err
	}
	lines := make([]string, len(all))
	running := 0
	for i, j := range all {
		lines[i] = formatJob(j)
		if j.Status == session.JobRunning {
			running++
		}
	}
	if len(all) == 0 {
		lines = []string{"There are no jobs."}
	}
	title := fmt.Sprintf("%d running", running)
	return tool.TextOutput(title, strings.Join(lines, "\n"), map[string]any{"jobs": all}), nil
}

func formatJob(j session.Job) string {
	state := string(j.Status)
	if j.Exit != nil {
		state += fmt.Sprintf(", exit code %d", *j.Exit)
	}
	if j.Error != "" {
		state += ": " + j.Error
	}
	command, _ := workpath.CutRunes(j.Command, 200)
	if j.Task != nil {
		return fmt.Sprintf("%s (%s): %s\n  task_id: %s", j.ID, state, command, j.Task.SessionID)
	}
	return fmt.Sprintf("%s (%s): %s\n  output: %s", j.ID, state, command, j.OutputPath)
}

// readLog returns the end of the job's output, of an ended job from its file.
func (in jobInput) readLog(jobs tool.Jobs, job session.Job) string {
	text, running := jobs.ReadTail(job.ID, jobBytes)
	if !running {
		var err error
		if text, err = readTail(job.OutputPath); err != nil {
			return "(the output is not there any more)"
		}
	}
	if strings.TrimSpace(text) == "" {
		return "(no output)"
	}
	most := in.Lines
	if most == 0 {
		most = jobLines
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// readTail returns the end of a file of managed output.
func readTail(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	b := make([]byte, min(size, jobBytes))
	n, err := f.ReadAt(b, size-int64(len(b)))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.ToValidUTF8(string(b[:n]), ""), nil
}
