package file

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

//go:embed edit.md
var editDescription string

const editSchema = `{"type":"object","properties":{
"filePath":{"type":"string","minLength":1,"description":"The file to change"},
"oldString":{"type":"string","description":"The text to replace"},
"newString":{"type":"string","description":"The text to put in its place"},
"replaceAll":{"type":"boolean","description":"Replace every occurrence"}
},"required":["filePath","oldString","newString"],"additionalProperties":false}`

type editTool struct{ *fileTools }

type editInput struct {
	FilePath   string `json:"filePath"`
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
}

// changeInfo is the structured result of a change of one file, in OpenCode's shape.
type changeInfo struct {
	Diff        string                    `json:"diff"`
	FileDiff    fileDiff                  `json:"filediff"`
	Diagnostics map[string]jsontext.Value `json:"diagnostics"`
	Notes       []string                  `json:"notes,omitempty"` // about language servers
	FilePath    string                    `json:"filepath"`
	Exists      bool                      `json:"exists"`
	Truncated   bool                      `json:"truncated"`
	Seen        fingerprints              `json:"seen"`
}

type fileDiff struct {
	File      string `json:"file"`
	Patch     string `json:"patch"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
}

// formatOutput returns the result of a change of one file.
func (c change) formatOutput() tool.Output {
	p := c.steps[0].path
	added, removed := countChangedLines(c.diff)
	diff := truncateDiff(c.diff)
	out := tool.TextOutput(p.Title(), c.message, changeInfo{
		Diff: diff, FileDiff: fileDiff{p.Abs, diff, added, removed}, Diagnostics: c.diagnostics, Notes: c.notes,
		FilePath: p.Abs, Exists: c.steps[0].before.info != nil, Seen: c.seen,
	})
	out.Visited = []string{p.Real}
	return out
}

// Definition describes the tool.
func (t *editTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "edit", Description: strings.TrimSpace(editDescription), Schema: jsontext.Value(editSchema), Action: "edit",
	}
}

// Run edits the file.
func (t *editTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[editInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	if in.OldString == in.NewString {
		return tool.Output{}, tool.Failf("oldString and newString are the same, so there is nothing to change.")
	}
	done, err := t.changeOne(ctx, call, in.FilePath, in.plan)
	if err != nil {
		return tool.Output{}, err
	}
	return done.formatOutput(), nil
}

// plan returns the new content of the file and the message to the model. It keeps the file's byte order mark
// and line ends, whichever the model used in its texts.
func (in editInput) plan(before fileState) ([]byte, string, error) {
	// Decide by the state of the file: create it, or refuse.
	switch {
	case before.info == nil && in.OldString == "":
		return []byte(in.NewString), "Edit applied successfully. The file was created.", nil
	case before.info == nil:
		return nil, "", tool.Failf("File not found: %s. An edit with an empty oldString would create it.", in.FilePath)
	case in.OldString == "":
		return nil, "", tool.Failf(
			"%s exists already, and an empty oldString only creates new files. Use write to replace all of it.", in.FilePath,
		)
	case workpath.IsBinary(before.data):
		return nil, "", tool.Failf("%s is a binary file; it is not edited as text.", in.FilePath)
	}
	// Bring both texts into the form of the file.
	content, mark := strings.CutPrefix(string(before.data), workpath.BOM)
	old, newText := strings.TrimPrefix(in.OldString, workpath.BOM), in.NewString
	eol := detectLineEnd(content)
	// if the text occurs as given, the file has both kinds of line ends
	if asFile := convertLineEnds(old, eol); asFile == old || !strings.Contains(content, old) {
		old, newText = asFile, convertLineEnds(newText, eol)
	}
	// Replace; an edit without effect is an error, since the model expects one.
	r, err := replaceText(content, old, newText, in.ReplaceAll)
	if err != nil {
		return nil, "", err
	}
	if r.content == content {
		return nil, "", tool.Failf("The edit changes nothing in %s: its text already is as newString says.", in.FilePath)
	}
	if mark {
		r.content = workpath.BOM + strings.TrimPrefix(r.content, workpath.BOM)
	}
	return []byte(r.content), r.String(), nil
}
