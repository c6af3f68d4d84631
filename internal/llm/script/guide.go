package script

import (
	"context"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Guide is a Model without a model: rules that look around in a directory with the tools of the request and answer
// with what they saw. It says so in the first line of every answer.
//
// A task begins at the last user message. The Guide keeps nothing: each request is answered from its own messages, by
// going through the same rules again until they need a tool result that is not there yet, or know enough. The same
// request gets the same answer. A task ends after at most 12 turns, with what is known by then.
type Guide struct{}

// introduction is the first line of every answer.
const introduction = "I am cairn's built-in guide, not a language model; for a real one run `cairn auth login` or set an API key variable such as OPENAI_API_KEY.\n\n"

// Stream answers req with tool calls or with text.
func (Guide) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, llm.AsError(ctx, err))
			return
		}
		perform(ctx, performance{turn: guideTurn(req), request: len(req.Messages), req: req}, yield)
	}
}

// guideTurn decides what to do next.
func guideTurn(req *llm.Request) Turn {
	t := taskOf(req)
	text := t.answer()
	var turn Turn
	if len(t.pending) > 0 {
		id := fingerprint(req)
		for i, call := range t.pending {
			call.ID = "guide_" + id + "_" + strconv.Itoa(i+1)
			turn.Usage.Output += tokens(len(call.Name) + len(call.Arguments))
			turn.Steps = append(turn.Steps, Step{Call: &call})
		}
	} else {
		chunks := deltas(introduction + clean(text))
		turn.Steps = []Step{{Text: chunks}}
		turn.Usage.Output = tokens(len(introduction) + len(text))
	}
	turn.Usage.Input = inputTokens(req)
	turn.Usage.Total = turn.Usage.Input + turn.Usage.Output
	return turn
}

// tokens estimates the tokens of n characters.
func tokens(n int) int64 { return int64(n+3) / 4 }

func inputTokens(req *llm.Request) int64 {
	n := 0
	for _, s := range req.System {
		n += len(s)
	}
	for _, tool := range req.Tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	for _, m := range req.Messages {
		eachText(m.Parts, func(s string) { n += len(s) })
	}
	return tokens(n)
}

// fingerprint distinguishes the turns of a session, so that call ids do not repeat in it.
func fingerprint(req *llm.Request) string {
	h := fnv.New64a()
	for _, m := range req.Messages {
		_, _ = h.Write([]byte(m.Role))
		eachText(m.Parts, func(s string) { _, _ = h.Write([]byte(s)) })
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func eachText(parts []llm.Part, visit func(string)) {
	for _, part := range parts {
		switch part := part.(type) {
		case llm.Text:
			visit(part.Text)
		case llm.Reasoning:
			visit(part.Text)
		case llm.ToolCall:
			visit(part.ID)
			visit(part.Name)
			visit(string(part.Input))
		case llm.ToolResult:
			visit(part.ID)
			eachText(part.Content, visit)
		case llm.Media:
			visit(part.Name)
		}
	}
}

// deltas cuts text after white space into pieces of about 20 bytes, never inside a character.
func deltas(text string) Chunks {
	const aim, most = 20, 60
	var out Chunks
	start := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if space := r == ' ' || r == '\n'; (space && next-start >= aim) || next-start >= most {
			out = append(out, text[start:next])
			start = next
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// clean makes quoted text fit for a terminal: valid UTF-8 without control characters.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || (r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f)) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
