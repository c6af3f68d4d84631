package exec

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/protected"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	defaultTimeout = 120 * time.Second
	maxCommand     = 100 << 10 // bytes; systems refuse single arguments from 128 KiB on
	shownOutput    = 30_000    // characters of the end of the output in the structured result
)

//go:embed bash.md
var bashDescription string

const bashSchema = `{"type":"object","properties":{
"command":{"type":"string","minLength":1,"description":"The command"},
"timeout":{"type":"integer","minimum":1,"maximum":600000,"description":"Milliseconds it may take"},
"workdir":{"type":"string","description":"The directory to run it in"},
"description":{"type":"string","description":"What it is for, in a few words"},
"background":{"type":"boolean","description":"Start it as a job and go on at once"}
},"required":["command"],"additionalProperties":false}`

type bashTool struct{ *execTools }

type bashInput struct {
	Command     string `json:"command"`
	Timeout     int64  `json:"timeout"`
	Workdir     string `json:"workdir"`
	Description string `json:"description"`
	Background  bool   `json:"background"`
}

// bashInfo is the structured result, in OpenCode's shape.
type bashInfo struct {
	Output      string `json:"output"`
	Exit        *int   `json:"exit"`
	Truncated   bool   `json:"truncated"`
	OutputPath  string `json:"outputPath,omitzero"`
	Description string `json:"description,omitzero"`
	Timeout     bool   `json:"timeout,omitzero"`

	Sandbox session.SandboxMode `json:"sandbox,omitzero"` // the command ran in it
}

// bashProgress is the structured result of a running command.
type bashProgress struct {
	Output      string `json:"output"`
	Description string `json:"description,omitzero"`
}

// Definition describes the tool.
func (t *bashTool) Definition() tool.Definition {
	return tool.Definition{
		Name:        "bash",
		Description: t.describeTool(),
		Schema:      jsontext.Value(bashSchema),
		Bounded:     true,
	}
}

// Run runs the command. A failure or a timeout of the command is a normal result. It asks for permission first, and
// resolves the directory again afterwards, because a link may have changed while a person decided.
func (t *bashTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	// Check the input.
	in, err := tool.Input[bashInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	if err := in.validate(); err != nil {
		return tool.Output{}, err
	}
	dir, err := t.config.Paths.Resolve(in.Workdir)
	if err != nil {
		return tool.Output{}, err
	}
	shell, err := t.config.ShellPath()
	if err != nil {
		return tool.Output{}, err
	}

	// Ask, and choose the sandbox.
	confined, err := t.authorizeCommand(ctx, call, in, commandPlace{program: shell, dir: dir})
	if err != nil {
		return tool.Output{}, err
	}
	added, err := listAdded(ctx, call, dir.Real)
	if err != nil {
		return tool.Output{}, err
	}
	if err := dir.RequireDir(); err != nil {
		return tool.Output{}, err
	}
	again, err := t.config.Paths.Resolve(in.Workdir)
	if err != nil || again.Real != dir.Real {
		return tool.Output{}, workpath.FailMoved(dir.Abs)
	}

	// Run it: as a job, or here to its end.
	r := t.newCommand(call, in, commandPlace{program: shell, dir: dir}, confined)
	r.Env = t.readEnvironment(confined, added...)
	if in.Background {
		if call.Files != nil {
			call.Files.RecordUnknown(ctx, "the command runs in the background")
		}
		return startJob(ctx, call, r, in)
	}
	t.spare.Start(r.Supervisor, r.Isolated) // meanwhile the state of the worktree is read
	defer t.spare.StartLater(r.Supervisor, r.Isolated)
	if call.Files != nil {
		watched, err := call.Files.WatchTree(ctx)
		if err != nil {
			return tool.Output{}, err
		}
		defer watched()
	}
	done, err := r.execute(ctx, func(recent string) {
		call.Progress(tool.Output{Title: in.Command, Structured: tool.EncodeObject(bashProgress{recent, in.Description})})
	})
	if err != nil {
		return tool.Output{}, err
	}

	// Report the result, and what processes of earlier commands did; remember a refusal for the next command.
	confined.notice += t.refused.takeNotes(call.SessionID)
	out := in.formatOutput(call, done, r.timeout, confined)
	if confined.explainRefusal(done.exit, done.out.Text) != "" {
		t.refused.add(call.SessionID, in.Command)
	}
	if done.interrupted {
		return out, context.Cause(ctx)
	}
	return out, nil
}

// newCapture returns the capture of a command's output.
func (t *bashTool) newCapture() *tool.Capture {
	return tool.NewCapture(t.config.Outputs, t.config.Limits, t.config.Log)
}

// rememberFindings returns what remembers findings of the guard for the next command of the session.
func (t *bashTool) rememberFindings(id session.ID) func(r protected.GuardReport, late bool) {
	return func(r protected.GuardReport, late bool) {
		t.refused.addFound(id, r.Note, late, t.nameExposed(r.Exposed))
	}
}

// nameExposed returns the permission resources of files.
func (t *bashTool) nameExposed(paths []string) (names []string) {
	place := t.newPlace()
	for _, path := range paths {
		names = append(names, place.NameResource(path))
	}
	return names
}

// authorizeCommand asks for the permissions that the command needs and returns its sandbox. The confinement is read
// twice: the requests depend on the one before the asks, and an approval by a person may lift it.
func (t *bashTool) authorizeCommand(
	ctx context.Context, call tool.Call, in bashInput, at commandPlace,
) (c confinement, err error) {
	if at.as, err = findConfinement(ctx, call); err != nil {
		return c, err
	}
	if err := t.requireSandbox(at.as); err != nil {
		return c, err
	}

	// Ask.
	at.session = call.SessionID
	plan := t.planCommand(in, at)
	if err := workpath.AskAll(ctx, call, plan.requests); err != nil {
		return c, err
	}
	t.refused.dropExposed(call.SessionID, plan.exposed)

	// Choose the sandbox, with the approvals of the asks.
	if at.as, err = findConfinement(ctx, call); err != nil {
		return c, err
	}
	if plan.unsandboxed && at.as.Mode == session.SandboxWrites && !at.as.ReadOnly {
		at.as = tool.Confinement{Mode: session.SandboxOff, AllowsEdit: at.as.AllowsEdit}
	}
	cell := tool.CellRequest{Session: call.SessionID}
	if at.as.Outside {
		cell.Granted = plan.changed
	}
	answered := plan.requests
	if at.as.Unread {
		answered = nil
	}
	c, err = t.chooseSandbox(at.as, cell)
	t.liftProtected(&c, answered)
	return c, err
}

// newCommand returns the command of a call at its place, without its environment.
func (t *bashTool) newCommand(call tool.Call, in bashInput, at commandPlace, confined confinement) command {
	r := command{
		Spec: process.Spec{
			Argv: []string{at.program, "-c", in.Command}, Policy: confined.findPolicy(), Rulesets: &t.rulesets, Spare: &t.spare,
			Supervisor: t.config.Supervisor, Dir: at.dir.Real, Grace: t.killDelay(),
			Guard: t.newGuard(confined), Processes: cmp.Or(t.config.Processes, process.MaxProcesses),
		},
		drain: t.config.DrainTime, log: t.config.Log, timeout: t.timeout(),
		found:  t.rememberFindings(call.SessionID),
		output: &commandOutput{capture: t.newCapture().SetSession(call.SessionID)},
	}
	r.Isolated = r.UsesNamespace()
	if in.Timeout > 0 {
		r.timeout = time.Duration(in.Timeout) * time.Millisecond
	}
	return r
}

// readEnvironment returns the environment of a command. The added variables come last; those that never pass are not
// among it.
func (s *execTools) readEnvironment(c confinement, added ...string) []string {
	config := s.config
	config.Env = slices.Concat(config.Env, c.cell.Env, added)
	return config.Environment()
}

// listAdded returns the variables, as NAME=value, that the call gets for a command in the directory.
func listAdded(ctx context.Context, call tool.Call, directory string) (added []string, err error) {
	if call.Environment == nil {
		return nil, nil
	}
	variables, err := call.Environment(ctx, directory)
	for name, value := range variables {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, tool.Failf("The variable %q cannot be set for the command.", session.ClipText(name, 80))
		}
		added = append(added, name+"="+value)
	}
	return added, err
}

func (in bashInput) validate() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return tool.Failf("The command is empty.")
	case strings.ContainsRune(in.Command, 0):
		return tool.Failf("The command contains a NUL byte, which no shell can run.")
	case len(in.Command) > maxCommand:
		return tool.Failf(
			"The command is %d bytes long, the limit is %d. Write it to a file and run that.",
			len(in.Command),
			maxCommand,
		)
	default:
		return nil
	}
}

// describeTool returns the description with the timeout and the sandbox of this Location.
func (t *bashTool) describeTool() string {
	text := strings.TrimSpace(bashDescription)
	return strings.Replace(text, "120000", strconv.FormatInt(t.timeout().Milliseconds(), 10), 1) + t.describeSandbox()
}

func (t *bashTool) timeout() time.Duration { return cmp.Or(t.config.Timeout, defaultTimeout) }

func (t *bashTool) killDelay() time.Duration { return cmp.Or(t.config.KillDelay, 800*time.Millisecond) }

// formatOutput returns the result of a command: its output, then a note of how it ended and of its sandbox.
// The text is for the model; bashInfo keeps the same facts for clients. Output that looks like cairn's own markers is
// marked.
func (in bashInput) formatOutput(
	call tool.Call, done commandResult, timeout time.Duration, as confinement,
) tool.Output {
	text := tool.MarkImitations(call, "output of the command", done.out.Text)
	if text == "" {
		text = "(no output)"
	}
	info := bashInfo{
		Output: done.tail, Truncated: done.out.Cut, OutputPath: done.out.Path, Description: in.Description,
		Timeout: done.timedOut, Sandbox: as.mode,
	}
	if info.Output == "" {
		info.Output = text
	}
	// Say how it ended. A command that timed out or was interrupted has no exit code of its own.
	note := ""
	switch {
	case done.timedOut:
		note = fmt.Sprintf(
			"shell tool terminated command after exceeding timeout %d ms. If this command is expected to take longer and "+
				"is not waiting for interactive input, retry with a larger timeout value in milliseconds.",
			timeout.Milliseconds(),
		)
	case done.interrupted:
		note = "The command was ended because the user interrupted it."
	case done.signal != "":
		note = "The command was ended by a signal: " + done.signal + "."
		info.Exit = &done.exit
	default:
		info.Exit = &done.exit
		if done.exit != 0 {
			note = fmt.Sprintf("The command ended with exit code %d.", done.exit)
		}
	}
	// Add what the sandbox may have caused, last, where the model looks for the reason of a failure.
	note = strings.TrimSpace(note + " " + as.explainRefusal(done.exit, text) + as.notice)
	if note != "" {
		text += "\n\n<shell_metadata>\n" + note + "\n</shell_metadata>"
	}
	// The complete output is in a file if it was cut here.
	out := tool.TextOutput(in.Command, text, info)
	if done.out.Path != "" {
		out.OutputPaths = []string{done.out.Path}
	}
	return out
}
