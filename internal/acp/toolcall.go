package acp

import (
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// findKind returns the kind of a built-in tool; others are "other".
func findKind(tool string) callKind {
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
		id: id, tool: tool, title: describe.DescribeCall(tool, input), kind: findKind(tool), status: statusRunning,
		rawInput: input, paths: makeAbsolute(directory, in.FilePath, in.Path),
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

// makeAbsolute returns the paths that are not empty, resolved in the directory.
func makeAbsolute(directory string, paths ...string) (out []string) {
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
		one := patchedFile{FilePath: r.FilePath, Patch: r.Diff, Type: "add"}
		if r.Exists {
			one.Type = "update"
		}
		files = []patchedFile{one}
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
	if findKind(tool) != "edit" {
		u.title, u.content = r.title, newContent(r.content)
		return u
	}
	var f fileResult
	if json.Unmarshal(r.structured, &f, jsontext.AllowDuplicateNames(true)) == nil {
		u.content = f.listDiffs()
	}
	return u
}

// encodeOutput returns the texts of a result as the raw output of its call.
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

// newContent returns what a tool has returned. Empty texts are left out.
func newContent(content []session.ToolContent) (out []callContent) {
	for _, c := range content {
		switch {
		case c.Type == "text" && c.Text != "":
			out = append(out, callContent{block: block{text: c.Text}})
		case c.Type != "text":
			out = append(out, callContent{block: newFileBlock(c.URI, c.Mime, c.Name)})
		}
	}
	return out
}

// newFileBlock returns a file: an image with its data, other data as a link that only names it, or a link.
func newFileBlock(uri, mediaType, name string) block {
	data, isBase64 := parseData(uri)
	switch {
	case isBase64 && strings.HasPrefix(mediaType, "image/"):
		return block{mediaType: mediaType, data: data, name: name}
	case strings.HasPrefix(uri, "data:"):
		return block{uri: "attachment:" + name, mediaType: mediaType, name: name}
	default:
		return block{uri: uri, mediaType: mediaType, name: name}
	}
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

// endShell returns the update of a user's own command that has ended.
func endShell(id, output string) callUpdate {
	return callUpdate{id: id, status: statusCompleted, content: newContent(session.TextContent(output))}
}
