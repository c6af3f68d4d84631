// Package guide is the model of an installation without a provider: fixed rules instead of a language model. It lists,
// searches and reads with the tools of the request, quotes what it finds with file and line, and can replace text in
// a file, which the edit tool asks for first. The first line of every answer says what it is.
//
// A task begins at the last user message. The guide keeps no state: each request is answered from its own messages, by
// applying the same rules again until they need a tool result that is missing, or can answer. The same request
// therefore gets the same answer.
package guide

import (
	"context"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// ModelID is the name under which the catalog knows the guide.
const ModelID = "guide"

const introduction = "I am cairn's built-in guide, not a language model; for a real one run `cairn auth login` " +
	"or set an API key variable such as OPENAI_API_KEY.\n\n"

const capabilities = `What I can do without a model, in this directory:
- "What does this project do?": list the directory, read the main files, and quote what they say.
- "find TEXT", "grep PATTERN", "where is NAME defined?": search, and answer with files and lines.
- "read FILE", "read FILE lines 10-40", "list DIR": show what is there.
- "replace X with Y in FILE": a literal replacement, after you allow it.
`

// Model is the guide as an llm.Model.
type Model struct{}

// Stream answers req with tool calls or with text.
func (Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, event := range respond(req) {
			if err := ctx.Err(); err != nil {
				yield(nil, llm.AsError(ctx, err))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// respond returns the stream that answers req: the calls that the rules need next, else the answer.
func respond(req *llm.Request) []llm.Event {
	t := newTask(req)
	answer := t.answerCommand()
	events := []llm.Event{llm.ResponseStart{RequestID: "guide-" + strconv.Itoa(len(req.Messages))}}
	finish, size := llm.FinishToolCalls, 0
	for i, call := range t.pending {
		id := "guide_" + fingerprintOf(req) + "_" + strconv.Itoa(i+1)
		input := string(call.Input)
		events = append(
			events,
			llm.ToolInputStart{ID: id, Name: call.Name},
			llm.ToolInputDelta{ID: id, Delta: input},
			llm.ToolInputEnd{ID: id},
			llm.ToolCallEvent{ID: id, Name: call.Name, Input: call.Input, Raw: input},
		)
		size += len(call.Name) + len(input)
	}
	if len(t.pending) == 0 {
		const id = "text_1"
		finish = llm.FinishStop
		events = append(events, llm.TextStart{ID: id})
		for text := range strings.Lines(introduction + makePrintable(answer)) {
			events = append(events, llm.TextDelta{ID: id, Delta: text})
			size += len(text)
		}
		events = append(events, llm.TextEnd{ID: id})
	}
	usage := llm.Usage{Input: estimateTokens(requestSize(req)), Output: estimateTokens(size)}
	usage.Total = usage.Input + usage.Output
	return append(events, llm.Finish{Reason: finish, Usage: usage})
}

// estimateTokens estimates the tokens of a text of size bytes.
func estimateTokens(size int) int64 { return int64(size+3) / 4 }

func requestSize(req *llm.Request) int {
	size := 0
	for _, s := range req.System {
		size += len(s)
	}
	for _, tool := range req.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	for _, m := range req.Messages {
		visitTexts(m.Parts, func(s string) { size += len(s) })
	}
	return size
}

// fingerprintOf identifies the turn, so that the call ids of a session do not repeat.
func fingerprintOf(req *llm.Request) string {
	h := fnv.New64a()
	for _, m := range req.Messages {
		_, _ = h.Write([]byte(m.Role))
		visitTexts(m.Parts, func(s string) { _, _ = h.Write([]byte(s)) })
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func visitTexts(parts []llm.Part, visit func(string)) {
	for _, part := range parts {
		switch part := part.(type) {
		case llm.Text:
			visit(part.Text)
		case llm.Reasoning:
			visit(part.Text)
		case llm.ToolCall:
			visit(part.ID + part.Name + string(part.Input))
		case llm.ToolResult:
			visit(part.ID)
			visitTexts(part.Content, visit)
		case llm.Media:
			visit(part.Name)
		}
	}
}

// makePrintable makes quoted text safe for a terminal: valid UTF-8 without control characters.
func makePrintable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || (r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f)) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
