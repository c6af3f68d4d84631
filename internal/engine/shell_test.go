package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// commands returns a tool bash with five commands: "echo WORDS", "exit CODE", "fail", "hang" and "confinement".
func commands() tool.Tool { return bash{} }

type bash struct{}

func (bash) Definition() tool.Definition {
	return tool.Definition{Name: "bash", Description: "bash", Schema: jsontext.Value(`{"type":"object"}`)}
}

func (bash) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	if err := c.Ask(ctx, tool.Request{Action: "bash", Resources: []string{"*"}}); err != nil {
		return tool.Output{}, err
	}
	var in struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return tool.Output{}, err
	}
	words, exit := strings.TrimPrefix(in.Command, "echo "), "0"
	if code, found := strings.CutPrefix(in.Command, "exit "); found {
		words, exit = "", code
	}
	switch in.Command {
	case "fail":
		return tool.Output{}, tool.Failf("no shell is there")
	case "hang":
		words, exit = "beginning", "null"
	case "environment": // what extensions add
		words = "none"
		if c.Environment != nil {
			added, err := c.Environment(ctx, "/work")
			if err != nil {
				return tool.Output{}, err
			}
			words = fmt.Sprint(added)
		}
	case "confinement":
		as, err := c.Confine(ctx)
		if err != nil {
			return tool.Output{}, err
		}
		words = string(as.Mode)
	}
	out := tool.Output{Structured: jsontext.Value(`{"output":"` + words + `","exit":` + exit + `}`)}
	c.Progress(out)
	if in.Command != "hang" {
		return out, nil
	}
	select {
	case <-ctx.Done():
		return out, context.Cause(ctx)
	case <-time.After(time.Hour):
		return out, nil
	}
}
