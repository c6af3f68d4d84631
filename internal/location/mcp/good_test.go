package mcp_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 roots and sampling are deprecated in the protocol of 2026-07-28; servers of today use them

// addTool adds a tool with a handler that returns texts.
func addTool(s *sdk.Server, name string, h func(ctx context.Context, r *sdk.CallToolRequest) (string, error)) {
	s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name, InputSchema: jsontext.Value(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text, err := h(ctx, r)
			if err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
}

// pixel is an image in PNG.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// newGoodServer returns a server with one of each kind.
func newGoodServer() *sdk.Server {
	options := &sdk.ServerOptions{Instructions: "Call echo first."}
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1"}, options)
	addTool(s, "echo", func(_ context.Context, r *sdk.CallToolRequest) (string, error) {
		var in struct {
			Text string `json:"text"`
		}
		err := json.Unmarshal(r.Params.Arguments, &in)
		return "echo " + in.Text, err
	})
	addTool(s, "roots", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil || len(roots.Roots) != 1 {
			return "", fmt.Errorf("%v %v", roots, err)
		}
		return roots.Roots[0].URI, nil
	})
	addTool(s, "sample", func(ctx context.Context, r *sdk.CallToolRequest) (string, error) {
		_, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1})
		return fmt.Sprint(err), nil
	})
	addTool(s, "broken", func(context.Context, *sdk.CallToolRequest) (string, error) {
		return "", errors.New("no such table")
	})
	addResults(s)
	s.AddResource(&sdk.Resource{Name: "notes", URI: "memo://notes", MIMEType: "text/plain"}, readMemo)
	s.AddResource(&sdk.Resource{Name: "photo", URI: "memo://photo", MIMEType: "image/png"}, readMemo)
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "memo", URITemplate: "memo://{name}"}, readMemo)
	s.AddPrompt(&sdk.Prompt{Name: "review", Description: "Reviews", Arguments: []*sdk.PromptArgument{
		{Name: "file", Required: true}, {Name: "focus"},
	}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		text := fmt.Sprintf("Review %s with %s", r.Params.Arguments["file"], r.Params.Arguments["focus"])
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: text}},
			{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "memo://a", Text: "Rules"}}},
		}}, nil
	})
	return s
}

func readMemo(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "the memo of " + r.Params.URI}
	if r.Params.URI == "memo://photo" {
		c = &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte(pixel)}
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}

// addResults adds tools that return each kind of result.
func addResults(s *sdk.Server) {
	for name, result := range map[string]*sdk.CallToolResult{
		"image": {Content: []sdk.Content{
			&sdk.TextContent{Text: "a pixel"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte(pixel)},
		}},
		"audio": {Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")}}},
		"embedded": {Content: []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "memo://a", Text: "memo a"}},
		}},
		"link":       {Content: []sdk.Content{&sdk.ResourceLink{URI: "memo://b", Name: "b"}}},
		"structured": {StructuredContent: map[string]any{"b": 2, "a": []int{1}}},
		"refuse":     {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "the disk is full"}}},
	} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: jsontext.Value(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result, nil })
	}
}
