// Package anthropic speaks the Anthropic Messages protocol: Encode turns an llm.Request into a request body, Decode a
// response body into llm.Events. It is a function of bytes: it knows no URL, no key and no connection (spec/v2 §20,
// §21).
//
// What it promises. Equal prefixes of a conversation are equal bytes, but for the marks of its cache. Every history
// encodes: roles alternate, results follow their calls, nothing is empty, and what the protocol has no words for becomes
// a text note. Thinking goes back as it came, with its signature, and so do the calls and results of tools that the
// provider runs. A turn is good only when its stop reason arrived; local calls are given out only then. Everything that
// a stream can make us remember is bounded.
package anthropic

import (
	"slices"
	"strconv"
	"strings"
)

// Dialect is what one endpoint and model expect beyond the common ground. The zero value suits an old Claude, or
// another model behind the same protocol.
type Dialect struct {
	// Thinks says how the option reasoningEffort is written.
	Thinks Thinking
	// NoSampling leaves temperature, top_p and top_k out, for models that refuse them.
	NoSampling bool
	// NativeFormat asks for structured output by output_config; without it, by a tool that must be called.
	NativeFormat bool
	// SystemMessages sends an instruction in the middle of a conversation in a role of its own.
	SystemMessages bool
	// Vertex speaks to Google Vertex, where the model stands in the address.
	Vertex bool
}

// Thinking is a way to ask for thought.
type Thinking int

// The ways to think.
const (
	ThinksNot       Thinking = iota // the effort is not sent
	ThinksBudget                    // a number of tokens
	ThinksByEffort                  // an effort, without thoughts that can be read
	ThinksAdaptive                  // as the model sees fit, by effort
	ThinksAdaptiveX                 // the same, with the effort xhigh
)

// For returns the dialect of a model by its name, however a vendor spells it (spec/v1 §30.6).
func For(model string, reasons bool) Dialect {
	family, version := claude(model)
	d := Dialect{
		NativeFormat:   version >= 45 && family != "",
		SystemMessages: strings.HasPrefix(model, "claude-opus-4-8"),
	}
	switch {
	case !reasons:
	case family == "opus" && version >= 47, family == "sonnet" && version >= 50, family == "fable":
		d.Thinks, d.NoSampling = ThinksAdaptiveX, true
	case version == 46:
		d.Thinks = ThinksAdaptive
	case family == "opus" && version == 45:
		d.Thinks = ThinksByEffort
	default:
		d.Thinks = ThinksBudget
	}
	return d
}

// claude finds the family and the version, 45 for 4.5, in a model's name; nothing for one that is no Claude.
func claude(model string) (family string, version int) {
	_, name, ok := strings.Cut(strings.ToLower(model), "claude")
	if !ok {
		return "", 0
	}
	var digits []int
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-.@:_/", r) }) {
		n, err := strconv.Atoi(word)
		switch {
		case err == nil && n < 100 && len(digits) < 2:
			digits = append(digits, n)
		case slices.Contains([]string{"opus", "sonnet", "haiku", "fable", "instant"}, word):
			family = word
		}
	}
	switch len(digits) {
	case 0:
		return family, 0
	case 1:
		return family, digits[0] * 10
	default:
		return family, digits[0]*10 + min(digits[1], 9)
	}
}

// Path is where a request for the model goes, below the base URL.
func (d Dialect) Path(model string) string {
	if d.Vertex {
		return "models/" + model + ":streamRawPredict"
	}
	return "messages"
}
