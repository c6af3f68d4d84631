package file

import (
	"bytes"
	"context"
	_ "embed"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

//go:embed write.md
var writeDescription string

const writeSchema = `{"type":"object","properties":{
"filePath":{"type":"string","minLength":1,"description":"The file to write"},
"content":{"type":"string","description":"The whole new content"}
},"required":["filePath","content"],"additionalProperties":false}`

type writeTool struct{ *fileTools }

type writeInput struct {
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
}

// Definition describes the tool.
func (t *writeTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "write", Description: strings.TrimSpace(writeDescription), Schema: jsontext.Value(writeSchema), Action: "edit",
	}
}

// Run writes the file.
func (t *writeTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[writeInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	if len(in.Content) > maxEdited {
		return tool.Output{}, tool.Failf("content is %d bytes long, the limit is %d.", len(in.Content), maxEdited)
	}
	done, err := t.changeOne(ctx, call, in.FilePath, in.plan)
	if err != nil {
		return tool.Output{}, err
	}
	return done.formatOutput(), nil
}

// plan keeps the byte order mark of the replaced file, and its line ends if all lines end with CRLF: the model sees
// neither. A new batch file has CRLF, as cmd.exe needs it.
func (in writeInput) plan(before fileState) ([]byte, string, error) {
	content := in.Content
	lines := bytes.Count(before.data, []byte("\n"))
	hasCRLF := lines > 0 && lines == bytes.Count(before.data, []byte("\r\n"))
	name := strings.ToLower(filepath.Ext(in.FilePath))
	if before.info == nil && (name == ".bat" || name == ".cmd") {
		hasCRLF = true
	}
	if hasCRLF && !strings.Contains(content, "\r\n") {
		content = convertLineEnds(content, "\r\n")
	}
	return keepBOM(before.data, content), "Wrote file successfully.", nil
}

// keepBOM returns content with the byte order mark of the content that it replaces.
func keepBOM(before []byte, content string) []byte {
	if bytes.HasPrefix(before, []byte(workpath.BOM)) && !strings.HasPrefix(content, workpath.BOM) {
		content = workpath.BOM + content
	}
	return []byte(content)
}
