package acp

import (
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// update is something that a client shows of a session: one of the types of this file. Each version of the protocol has
// its own form of it.
type update interface{ isUpdate() }

type (
	// userText is a prompt, or a piece of one.
	userText struct {
		messageID string
		content   []block
		isOwn     bool // the client has sent it
	}
	// agentText is more of what the model says.
	agentText struct{ messageID, text string }
	// thought is more of what the model thinks.
	thought struct{ messageID, text string }
	// callUpdate is a call of a tool, or what has changed of it: zero members have not.
	callUpdate struct {
		isNew     bool
		id        string
		title     string
		tool      string
		kind      callKind
		status    callStatus
		content   []callContent
		paths     []string
		rawInput  jsontext.Value
		rawOutput jsontext.Value
	}
	// plan is the model's list of things to do.
	plan struct{ todos []session.Todo }
	// agentChanged and modelChanged are the choice of another agent or model.
	agentChanged struct{ agent string }
	modelChanged struct{}
	// titleChanged is a new title.
	titleChanged struct{ title string }
	// usage is what the newest request took of the model's window, and what the session has cost.
	usage struct {
		used, size int64
		cost       session.USD
	}
	// notice is a text for people.
	notice struct{ title, text string }
	// commandList are the commands of the directory.
	commandList struct{ commands []command }
	// stateChanged is the beginning or the end of work.
	stateChanged struct {
		state stateName
		stop  stopReason // of an idle session, "" if it is not known
		why   string     // of a failure, for people
		isOwn bool       // the work was that of a prompt of this client
	}
)

func (userText) isUpdate()     {}
func (agentText) isUpdate()    {}
func (thought) isUpdate()      {}
func (callUpdate) isUpdate()   {}
func (plan) isUpdate()         {}
func (agentChanged) isUpdate() {}
func (modelChanged) isUpdate() {}
func (titleChanged) isUpdate() {}
func (usage) isUpdate()        {}
func (notice) isUpdate()       {}
func (commandList) isUpdate()  {}
func (stateChanged) isUpdate() {}

// The words that both versions of the protocol share.
type (
	callKind   string
	callStatus string
	stateName  string
	stopReason string
)

const (
	statusPending   callStatus = "pending"
	statusRunning   callStatus = "in_progress"
	statusCompleted callStatus = "completed"
	statusFailed    callStatus = "failed"

	stateRunning stateName = "running"
	stateIdle    stateName = "idle"
	stateAsks    stateName = "requires_action"

	stopEnd       stopReason = "end_turn"
	stopLength    stopReason = "max_tokens"
	stopTurns     stopReason = "max_turn_requests"
	stopRefused   stopReason = "refusal"
	stopCancelled stopReason = "cancelled"
)

// block is a piece of content: a text, or data of a media type, or a link.
type block struct {
	text      string
	mediaType string
	data      string // base64
	uri, name string
}

// callContent is a piece of what a call shows: a text, data, or the change of a file.
type callContent struct {
	block
	diff *fileDiff
}

// fileDiff is the change of a file: a part of it before and after, or a patch in git's form.
type fileDiff struct {
	path     string
	old, new string
	kind     string // of a result: add, update, delete or move
	moved    string // the path before a move
	patch    string
}

// command is a command of the directory.
type command struct{ name, description, hint string }

// kinds are the kinds of the built-in tools; others are "other".
func kindOf(tool string) callKind {
	switch tool {
	case "read", "skill":
		return "read"
	case "edit", "write", "apply_patch", "patch":
		return "edit"
	case "grep", "glob", "list", "session_search", "lsp":
		return "search"
	case "bash":
		return "execute"
	case "webfetch", "websearch":
		return "fetch"
	case "todowrite", "todoread", "task", "question":
		return "think"
	case "plan_exit", "plan_enter":
		return "switch_mode"
	}
	return "other"
}

// callArguments are the arguments of tools that name files and changes.
type callArguments struct {
	FilePath string         `json:"filePath"`
	Path     string         `json:"path"`
	Old      string         `json:"oldString"`
	New      string         `json:"newString"`
	Content  string         `json:"content"`
	Rest     jsontext.Value `json:",embed"`
}

// newCall returns the update of a call that begins to run.
func newCall(directory, id, tool string, input jsontext.Value) callUpdate {
	var in callArguments
	_ = json.Unmarshal(input, &in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // of another type
	u := callUpdate{
		id: id, tool: tool, title: describe.DescribeCall(tool, input), kind: kindOf(tool), status: statusRunning,
		rawInput: input, paths: absolute(directory, in.FilePath, in.Path),
	}
	if u.kind == "edit" && in.FilePath != "" {
		d := fileDiff{path: u.paths[0], old: in.Old, new: in.New}
		if tool == "write" {
			d.new = in.Content
		}
		u.content = []callContent{{diff: &d}}
	}
	return u
}

// absolute returns the paths that are not empty, resolved in the directory.
func absolute(directory string, paths ...string) (out []string) {
	for _, p := range paths {
		switch {
		case p == "":
		case filepath.IsAbs(p):
			out = append(out, filepath.Clean(p))
		default:
			out = append(out, filepath.Join(directory, p))
		}
	}
	return out
}

// fileResult is the structured result of the tools that change files: of one file, or of several.
type fileResult struct {
	Diff     string        `json:"diff"`
	FilePath string        `json:"filepath"`
	Exists   bool          `json:"exists"` // before the change
	Files    []patchedFile `json:"files"`
}

type patchedFile struct {
	FilePath string `json:"filePath"`
	MovePath string `json:"movePath"`
	Type     string `json:"type"` // add, update, delete, move
	Patch    string `json:"patch"`
}

// listDiffs returns the changes of a result.
func (r fileResult) listDiffs() (out []callContent) {
	files := r.Files
	if r.FilePath != "" {
		files = []patchedFile{{FilePath: r.FilePath, Patch: r.Diff, Type: map[bool]string{false: "add", true: "update"}[r.Exists]}}
	}
	for _, f := range files {
		d := fileDiff{path: f.FilePath, kind: f.Type, patch: f.Patch}
		if f.Type == "move" && f.MovePath != "" {
			d.path, d.moved = f.MovePath, f.FilePath
		}
		d.old, d.new = splitPatch(f.Patch)
		out = append(out, callContent{diff: &d})
	}
	return out
}

// splitPatch returns the lines of a patch before and after the change: the parts of a file that it shows.
func splitPatch(patch string) (before, after string) {
	var from, to strings.Builder
	inHunk := false
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			inHunk = true
		case !inHunk || strings.HasPrefix(line, `\`):
		case line[0] == '-':
			from.WriteString(line[1:])
		case line[0] == '+':
			to.WriteString(line[1:])
		default:
			from.WriteString(strings.TrimPrefix(line, " "))
			to.WriteString(strings.TrimPrefix(line, " "))
		}
	}
	return from.String(), to.String()
}

// settlement is the outcome of a call that succeeded.
type settlement struct {
	title      string
	content    []session.ToolContent
	structured jsontext.Value
}

// settledCall returns the update of a call that succeeded. What it changed in files, or its output, takes the place of
// what was shown.
func settledCall(id, tool string, r settlement) callUpdate {
	u := callUpdate{id: id, status: statusCompleted, rawOutput: encodeOutput(r.content)}
	if kindOf(tool) != "edit" {
		u.title, u.content = r.title, newContent(r.content)
		return u
	}
	var f fileResult
	if json.Unmarshal(r.structured, &f, jsontext.AllowDuplicateNames(true)) == nil {
		u.content = f.listDiffs()
	}
	return u
}

func encodeOutput(content []session.ToolContent) jsontext.Value {
	var texts []string
	for _, c := range content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	raw, err := encode(map[string]string{"output": strings.Join(texts, "\n")})
	if err != nil {
		return nil
	}
	return raw
}

func newContent(content []session.ToolContent) (out []callContent) {
	for _, c := range content {
		switch data, ok := parseData(c.URI); {
		case c.Type == "text" && c.Text != "":
			out = append(out, callContent{block: block{text: c.Text}})
		case c.Type == "text":
		case ok && strings.HasPrefix(c.Mime, "image/"):
			out = append(out, callContent{block: block{mediaType: c.Mime, data: data, name: c.Name}})
		case ok:
			out = append(out, callContent{block: block{uri: "attachment:" + c.Name, mediaType: c.Mime, name: c.Name}})
		default:
			out = append(out, callContent{block: block{uri: c.URI, mediaType: c.Mime, name: c.Name}})
		}
	}
	return out
}

// parseData returns the content of a base64 data: URI.
func parseData(uri string) (data string, ok bool) {
	rest, isData := strings.CutPrefix(uri, "data:")
	header, body, found := strings.Cut(rest, ",")
	return body, isData && found && strings.HasSuffix(header, ";base64")
}

// failedCall returns the update of a call that failed.
func failedCall(id string, failure session.Failure) callUpdate {
	return callUpdate{
		id: id, status: statusFailed, content: []callContent{{block: block{text: failure.Message}}},
		rawOutput: encodeOutput(session.TextContent(failure.Message)),
	}
}
