// Package guide is the model of an installation without a provider: it says that a key is missing and how to add one,
// and answers a few requests by fixed rules, with the tools of the request, so that a newcomer sees a turn with calls and
// permissions. It is not a language model, which the first line of every answer says.
//
// A task begins at the last user message. The guide keeps no state: each request is answered from its own messages, by
// applying the same rule again until it needs a tool result that is missing, or can answer. The same request therefore
// gets the same answer.
package guide

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// The catalog's names of the provider that needs no network, and of the guide.
const (
	ProviderID = "cairn"
	ModelID    = "guide"
)

const introduction = "I am cairn's built-in guide, not a language model; for a real one run `cairn auth login` " +
	"or set an API key variable such as OPENAI_API_KEY.\n\n"

const capabilities = `Without a model I do what is written here, in this directory:
- "What does this project do?": list the directory and show how its main files begin.
- "read FILE", "list DIR", "find TEXT": show what is there.
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
	answer := t.answer()
	request := fmt.Sprint(req.System, req.Tools, req.Messages)
	events := []llm.Event{llm.ResponseStart{RequestID: "guide-" + strconv.Itoa(len(req.Messages))}}
	finish, size := llm.FinishToolCalls, 0
	for i, call := range t.pending {
		// The digest of the request keeps the call ids of a session unique.
		id := fmt.Sprintf("guide_%s_%d", digestOf(request), i+1)
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
	usage := llm.Usage{Input: estimateTokens(len(request)), Output: estimateTokens(size)}
	usage.Total = usage.Input + usage.Output
	return append(events, llm.Finish{Reason: finish, Usage: usage})
}

// estimateTokens estimates the tokens of a text of size bytes.
func estimateTokens(size int) int64 { return int64(size+3) / 4 }

func digestOf(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
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
