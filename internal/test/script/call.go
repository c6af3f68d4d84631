package script

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json/jsontext"
)

func (p *performance) playCall(ctx context.Context, s Step) error {
	c := s.Call
	// A call without an id gets one that is unique in the script.
	p.calls++
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", p.request, p.calls)
	}
	raw, err := p.argumentText(c)
	if err != nil {
		return err
	}
	// Stream the input, or half of it if the call is cut.
	if err := p.emit(ctx, llm.ToolInputStart{ID: id, Name: c.Name}); err != nil {
		return err
	}
	if c.Cut {
		return p.cutCall(ctx, id, raw)
	}
	for _, delta := range splitText(raw, c.Split) {
		if err := p.emitChunk(ctx, llm.ToolInputDelta{ID: id, Delta: delta}); err != nil {
			return err
		}
	}
	if err := p.emit(ctx, llm.ToolInputEnd{ID: id}); err != nil {
		return err
	}
	// Emit the complete call. Arguments that are not an object are reported with it.
	e := llm.ToolCallEvent{
		ID: id, Name: c.Name, Raw: raw, Invalid: checkObject(raw), Hosted: c.Hosted != nil, Metadata: s.Metadata,
	}
	if e.Invalid == "" {
		e.Input = jsontext.Value(raw)
	}
	// A hosted call is followed by its result.
	if err := p.emit(ctx, e); err != nil || c.Hosted == nil {
		return err
	}
	return p.emit(ctx, llm.HostedResult{ID: id, Name: c.Name, Result: c.Hosted.Result, IsError: c.Hosted.IsError})
}

func (p *performance) argumentText(c *Call) (string, error) {
	if c.Raw != "" {
		return c.Raw, nil
	}
	args, err := fillArguments(c.Arguments, func(r Result) (string, error) { return r.resolve(p.req.Messages) })
	if err != nil {
		return "", &llm.Error{
			Class: llm.InvalidRequest, Message: fmt.Sprintf("script: request %d, call %s: %v", p.request, clip(c.Name, 60), err),
		}
	}
	if len(args) == 0 {
		return "{}", nil
	}
	return string(args), nil
}

func (p *performance) cutCall(ctx context.Context, id, raw string) error {
	half := len(raw) / 2
	for half > 0 && !utf8.RuneStart(raw[half]) {
		half--
	}
	if half > 0 {
		if err := p.emitChunk(ctx, llm.ToolInputDelta{ID: id, Delta: raw[:half]}); err != nil {
			return err
		}
	}
	return &llm.Error{Class: llm.Incomplete, Message: "the stream ended in the middle of a tool call"}
}

// splitText cuts s into deltas of at most size bytes, never inside a character; size 0 means one piece.
func splitText(s string, size int) []string {
	if size <= 0 {
		size = len(s)
	}
	var out []string
	for len(s) > size {
		end := size
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		if end == 0 {
			_, end = utf8.DecodeRuneInString(s)
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
