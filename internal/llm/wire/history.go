package wire

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// AnswerTool is the tool whose call is the structured answer, for models without constrained decoding. The protocols
// emit its input as text.
const AnswerTool = "structured_answer"

// AnswerToolDescription is the description of AnswerTool.
const AnswerToolDescription = "Give the answer. Call this once, at the end, instead of writing text."

// MaxBreakpoints is the number of cache breakpoints that vendors accept in a request.
const MaxBreakpoints = 4

// LimitBreakpoints returns the breakpoints of a request up to the vendors' maximum: those of system texts first, then
// the latest ones of the conversation.
func LimitBreakpoints(req *llm.Request) (system int, messages []int) {
	system = min(req.Breakpoints.System, MaxBreakpoints, len(req.System))
	messages = req.Breakpoints.Messages
	return system, messages[max(0, len(messages)-(MaxBreakpoints-system)):]
}

// NormalizeCallID returns a call id for protocols that restrict its characters: another id becomes a digest with the
// given prefix. Equal ids stay equal and different ids stay different.
func NormalizeCallID(id, prefix string) string {
	if len(id) > maxIdentifier || !IsWord(id, "_-") {
		return prefix + ShortDigest(id)
	}
	return id
}

// MoveCallsLast moves the local calls of an answer after its other blocks, because the protocol expects their results
// next. If reasoning follows a call, the order stays: the model has signed the reasoning in this order.
func MoveCallsLast[B any](blocks []B, isCall, isReasoning func(B) bool) []B {
	first := slices.IndexFunc(blocks, isCall)
	if first < 0 || slices.ContainsFunc(blocks[first:], isReasoning) {
		return blocks
	}
	calls := slices.DeleteFunc(slices.Clone(blocks), func(b B) bool { return !isCall(b) })
	return append(slices.DeleteFunc(slices.Clone(blocks), isCall), calls...)
}

// ReasoningMetadata returns the signature of readable reasoning, or the data of redacted reasoning, in a namespace. A
// vendor refuses reasoning that has neither.
func ReasoningMetadata(p llm.Reasoning, namespace string) (signature, redacted string) {
	kept := ReadMetadata(p.Metadata, namespace)
	return DecodeString(kept[KeySignature]), DecodeString(kept[KeyRedacted])
}

// HostedResultText returns the readable content of a hosted tool's result, else its JSON. AttachmentFollows stands for
// its images.
func HostedResultText(r llm.ToolResult) string {
	lines, media := SplitResult(r, func(m llm.Media) (llm.Media, bool) { return m, true }, nil)
	if len(media) > 0 {
		lines = append(lines, AttachmentFollows)
	}
	return strings.Join(lines, "\n")
}
