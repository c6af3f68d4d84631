package file

import (
	"bytes"
	"context"
	_ "embed"
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

// plan keeps the byte order mark of the replaced file.
func (in writeInput) plan(before fileState) ([]byte, string, error) {
	return keepBOM(before.data, in.Content), "Wrote file successfully.", nil
}

// keepBOM returns content with the byte order mark of the content that it replaces.
func keepBOM(before []byte, content string) []byte {
	if bytes.HasPrefix(before, []byte(workpath.BOM)) && !strings.HasPrefix(content, workpath.BOM) {
		content = workpath.BOM + content
	}
	return []byte(content)
}
