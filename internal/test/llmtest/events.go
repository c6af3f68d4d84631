package llmtest

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Print formats a stream as text, one event per line, the error last.
func Print(stream iter.Seq2[llm.Event, error]) string {
	var out strings.Builder
	for e, err := range stream {
		if err != nil {
			fmt.Fprintf(&out, "error %v\n", err)
			continue
		}
		out.WriteString(formatEvent(e) + "\n")
	}
	return out.String()
}

func formatEvent(e llm.Event) string {
	// One line for each event, in the order of a stream.
	switch e := e.(type) {
	case llm.ResponseStart:
		return "opened " + e.RequestID
	case llm.TextStart:
		return "text-start " + e.ID
	case llm.TextDelta:
		return fmt.Sprintf("text-delta %s %q", e.ID, e.Delta)
	case llm.TextEnd:
		return "text-end " + e.ID + formatMetadata(e.Metadata)
	case llm.ReasoningStart:
		return "reasoning-start " + e.ID + formatMetadata(e.Metadata)
	case llm.ReasoningDelta:
		return fmt.Sprintf("reasoning-delta %s %q", e.ID, e.Delta)
	case llm.ReasoningEnd:
		return "reasoning-end " + e.ID + formatMetadata(e.Metadata)
	case llm.ToolInputStart:
		return fmt.Sprintf("input-start %s %s", e.ID, e.Name)
	case llm.ToolInputDelta:
		return fmt.Sprintf("input-delta %s %q", e.ID, e.Delta)
	case llm.ToolInputEnd:
		return "input-end " + e.ID
	case llm.ToolCallEvent:
		if e.Invalid != "" {
			return fmt.Sprintf("call %s %s INVALID %s: %q", e.ID, e.Name, e.Invalid, e.Raw)
		}
		if e.Hosted {
			return fmt.Sprintf("hosted %s %s %s%s", e.ID, e.Name, e.Input, formatMetadata(e.Metadata))
		}
		return fmt.Sprintf("call %s %s %s%s", e.ID, e.Name, e.Input, formatMetadata(e.Metadata))
	case llm.HostedResult:
		word := "returned"
		if e.IsError {
			word = "failed"
		}
		for _, p := range e.Content {
			if m, ok := p.(llm.Media); ok {
				word += fmt.Sprintf(" %s(%d bytes)", m.MediaType, len(m.Data))
			}
		}
		return fmt.Sprintf("%s %s %s %s%s", word, e.ID, e.Name, e.Result, formatMetadata(e.Metadata))
	case llm.Finish:
		u := e.Usage
		return fmt.Sprintf("finish %s in=%d out=%d reasoning=%d read=%d write=%d total=%d%s",
			e.Reason, u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite, u.Total, formatMetadata(e.Metadata))
	default:
		return fmt.Sprintf("%T", e)
	}
}

func formatMetadata(m llm.Metadata) string {
	var out string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out += " " + k + "=" + string(m[k])
	}
	return out
}

// SlowReader returns Step bytes of Text per read.
type SlowReader struct {
	Text string
	Step int
}

// Read implements io.Reader.
func (r *SlowReader) Read(p []byte) (int, error) {
	if r.Text == "" {
		return 0, io.EOF
	}
	n := copy(p, r.Text[:min(r.Step, len(r.Text))])
	r.Text = r.Text[n:]
	return n, nil
}
