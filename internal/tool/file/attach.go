package file

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Attachment is a file, or a page of it, or a directory that a user attaches to a prompt.
type Attachment struct {
	Session       session.ID
	Path          string
	Offset, Limit int
}

// Attach returns the result of the tool read for an attachment. Attaching a file inside of the Location permits reading
// it; a path outside is a *tool.Denial.
func Attach(ctx context.Context, c Config, a Attachment) (tool.Output, error) {
	input, err := json.Marshal(readInput{FilePath: a.Path, Offset: a.Offset, Limit: a.Limit})
	if err != nil {
		return tool.Output{}, err
	}
	return (&readTool{newFileTools(c)}).Run(ctx, tool.Call{
		SessionID: a.Session, Name: "read", Input: input,
		Ask: func(_ context.Context, r tool.Request) error {
			if r.Action != "read" {
				return &tool.Denial{Action: r.Action, Resources: r.Resources}
			}
			return nil
		},
	})
}
