package scope

import (
	"github.com/cairn-dev/cairn/internal/llm"
)

// RequestSize is the size of a request, or of a part of it.
type RequestSize struct {
	Bytes int64 // of texts: prompts, answers, calls, results, and definitions of tools
	Dense int64 // those of Bytes that are data without words, such as base64, of which a token has about 1.6 bytes
	Media int64 // tokens of images and documents, estimated
}

// Add returns the sum.
func (s RequestSize) Add(o RequestSize) RequestSize {
	return RequestSize{s.Bytes + o.Bytes, s.Dense + o.Dense, s.Media + o.Media}
}

// Estimated tokens of media, whatever the model: vendors charge images by their area, up to about this many, and
// documents by their pages.
const (
	imageTokens       = 1600
	documentTokens    = 3000
	documentPageBytes = 100 << 10
)

// messageBytes is the size that a message adds to the texts in it: its role and its frame.
const messageBytes = 16

// MeasureRequest returns the size of all that the model reads.
func MeasureRequest(req *llm.Request) RequestSize {
	size := MeasureMessages(req.Messages).Add(MeasureTools(req.Tools))
	for _, text := range req.System {
		size.Bytes += int64(len(text))
	}
	size.Bytes += int64(len(req.OutputSchema))
	return size
}

// MeasureTools returns the size of the definitions.
func MeasureTools(tools []llm.ToolDefinition) (size RequestSize) {
	for _, t := range tools {
		size.Bytes += int64(len(t.Name) + len(t.Description) + len(t.Schema) + len(t.Hosted))
	}
	return size
}

// MeasureMessages returns the size of the messages.
func MeasureMessages(ms []llm.Message) (size RequestSize) {
	for _, m := range ms {
		size.Bytes += messageBytes
		size = size.Add(measureParts(m.Parts))
	}
	return size
}

func measureParts(parts []llm.Part) (size RequestSize) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			size = size.Add(MeasureText(p.Text))
		case llm.Reasoning:
			size.Bytes += int64(len(p.Text))
		case llm.ToolCall:
			size.Bytes += int64(len(p.Name) + len(p.Input))
		case llm.ToolResult:
			size = size.Add(measureParts(p.Content))
			size.Bytes += int64(len(p.Raw))
		case llm.Media:
			size.Media += mediaTokens(p)
		}
	}
	return size
}

// leastDense is the length in bytes from which on a run of characters without a space may be data.
const leastDense = 24

// MeasureText returns the size of a text. Long runs of characters without spaces are data if 3 in 10 are digits or
// capital letters: base64, hexadecimal digits, UUIDs, columns of numbers.
func MeasureText(text string) RequestSize {
	size := RequestSize{Bytes: int64(len(text))}
	start, marks := 0, 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] <= ' ' {
			if n := i - start; n >= leastDense && marks*10 >= n*3 {
				size.Dense += int64(n)
			}
			start, marks = i+1, 0
		} else if c := text[i]; c-'0' < 10 || c-'A' < 26 {
			marks++
		}
	}
	return size
}

func mediaTokens(m llm.Media) int64 {
	if m.MediaType == "application/pdf" {
		return documentTokens * (1 + int64(len(m.Data))/documentPageBytes)
	}
	return imageTokens
}

// DefaultRatio is the number of tokens per byte of a model that no provider has reported usage for: vendors name four
// characters per token for English text.
const DefaultRatio = 0.25

// The bounds of real tokenizers, in tokens per byte.
const (
	lowestRatio  = 0.1
	highestRatio = 1
)

// ClampRatio returns the tokens per byte within the bounds of real tokenizers; 0 is DefaultRatio.
func ClampRatio(tokensPerByte float64) float64 {
	if tokensPerByte <= 0 {
		return DefaultRatio
	}
	return min(max(tokensPerByte, lowestRatio), highestRatio)
}

// denseRatio is the number of tokens per byte of data, between those of hexadecimal digits (0.57) and of base64 (0.71)
// with OpenAI's o200k.
const denseRatio = 0.62

// EstimateTokens returns the estimated number of tokens.
func (s RequestSize) EstimateTokens(tokensPerByte float64) int64 {
	ratio := ClampRatio(tokensPerByte)
	return int64(float64(s.Bytes)*ratio+float64(s.Dense)*max(denseRatio-ratio, 0)+0.5) + s.Media
}

// UsageReport is the usage that a provider reported of an earlier request, which is a prefix of the next one.
type UsageReport struct {
	Input int64       // tokens of the request, cached ones included
	Size  RequestSize // of the request
}

// EstimateNext returns the estimated tokens of a request: those reported of the earlier request, and an estimate of
// what the request adds to it; without an earlier one, an estimate of all. A report below what any tokenizer counts,
// such as that of a server which reports only what it did not find in its cache, is raised to that.
func EstimateNext(next RequestSize, earlier *UsageReport, tokensPerByte float64) int64 {
	if earlier == nil || earlier.Size.Bytes > next.Bytes || earlier.Size.Media > next.Media {
		return next.EstimateTokens(tokensPerByte)
	}
	rest := RequestSize{
		next.Bytes - earlier.Size.Bytes, max(next.Dense-earlier.Size.Dense, 0), next.Media - earlier.Size.Media,
	}
	reported := earlier.Input + rest.EstimateTokens(tokensPerByte)
	return max(reported, RequestSize{Bytes: next.Bytes, Media: next.Media}.EstimateTokens(lowestRatio))
}

// Limits are a model's limits in tokens; 0 is unknown.
type Limits struct {
	Context int64 // of request and answer together
	Input   int64 // of the request, if the vendor limits it by itself
	Output  int64 // of the answer
}

// InputLimit returns the largest request that the model accepts, without room for an answer; 0 if that is unknown.
func (l Limits) InputLimit() int64 {
	if l.Input > 0 {
		return l.Input
	}
	return max(l.Context, 0)
}

// RequestLimit returns the largest request that leaves room for the answer, 0 if the window is unknown. reserved is the
// configured reserve in tokens, 0 for the default. A small window keeps at least half of itself for the request.
func (l Limits) RequestLimit(reserved int64) int64 {
	const (
		maxReserve = 20_000 // of a model with an input limit
		maxOutput  = 32_000 // what cairn asks for at most
	)
	output := l.Output
	if output <= 0 || output > maxOutput {
		output = maxOutput
	}
	reserve := max(output, reserved)
	if l.Input > 0 {
		if reserve = reserved; reserve == 0 {
			reserve = min(output, maxReserve)
		}
	}
	return max(l.InputLimit()-reserve, l.InputLimit()/2)
}
