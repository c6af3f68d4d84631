package openaichat

import (
	"bytes"
	"slices"
	"strings"
)

// cure is a change of the requests to a Chat server that refuses a part of them by name. It is tried if the text of the
// refusal contains one of names and one of faults, and the refused request contains field.
type cure struct {
	names  []string // in lower case
	faults []string // in lower case
	field  string   // "" for any request
	apply  func(d *Dialect)
	advice string // for people: how requests are sent from now on, and the setting with the same effect
}

// refusedWords are the words with which servers refuse a field that they do not know.
var refusedWords = []string{
	"unsupported", "not supported", "does not support", "unknown", "unrecognized", "unexpected", "not permitted",
	"not allowed", "extra", "invalid", "no such",
}

// listCures returns the changes, in the order in which they are tried.
func listCures() []cure {
	// The index of a cure is its bit. If two cures concern one field, the words of the refusal decide which one fits.
	return []cure{
		{
			[]string{"stream_options", "include_usage"},
			refusedWords, `"stream_options"`,
			func(d *Dialect) { d.NoStreamOptions = true },
			`without stream_options, as with "includeUsage": false in the provider's options`,
		},
		{
			[]string{"reasoning_content"},
			[]string{"missing", "must be", "required", "expected", "without", "passed back"},
			"",
			func(d *Dialect) { d.ReasoningField, d.ForceReasoning = "reasoning_content", true },
			`with reasoning_content in each answer, as with "interleaved": {"field": "reasoning_content"} of the model`,
		},
		{
			[]string{"reasoning_content"},
			refusedWords, `"reasoning_content"`,
			func(d *Dialect) { d.ReasoningField, d.ForceReasoning = NoReasoning, false },
			"without reasoning_content",
		},
		{
			[]string{"use 'max_completion_tokens'", "max_completion_tokens instead", "use max_completion_tokens"},
			[]string{"max_tokens"},
			`"max_tokens"`,
			func(d *Dialect) { d.MaxTokensField = "max_completion_tokens" }, "with max_completion_tokens",
		},
		{
			[]string{"max_completion_tokens"},
			refusedWords, `"max_completion_tokens"`,
			func(d *Dialect) { d.MaxTokensField = "" }, "with max_tokens",
		},
		{
			[]string{"tool", "function call"},
			[]string{
				"support tool", "tools is not supported", "tools are not supported", "tool use is not", "tool calling is not",
				"tool choice requires", "function calling is not", "support function call", "'tools'", "`tools`", "\"tools\"",
			},
			`"tools"`, func(d *Dialect) { d.NoTools = true },
			`without tools, as with "tool_call": false of the model`,
		},
		{
			[]string{"system role", "role system", "system message", "user and assistant roles"},
			append([]string{"only user and assistant"}, refusedWords...), `"role":"system"`,
			func(d *Dialect) { d.NoSystem, d.MergeUsers = true, true }, "with the system prompt in the first user message",
		},
	}
}

// FindCure returns the bit of the first cure that fits a refusal of the request and that known does not have, with its
// advice; 0 without one. text is the message and body of the refusal in lower case. As each cure is returned once for
// the bits that a caller collects in known, a request is repeated at most as often as there are cures.
func FindCure(known uint, text string, request []byte) (bit uint, advice string) {
	has := func(w string) bool { return strings.Contains(text, w) }
	for i, c := range listCures() {
		bit := uint(1) << i
		if known&bit == 0 && slices.ContainsFunc(c.names, has) && slices.ContainsFunc(c.faults, has) &&
			bytes.Contains(request, []byte(c.field)) {
			return bit, c.advice
		}
	}
	return 0, ""
}

// ApplyCures returns the dialect with the cures of the bits.
func (d Dialect) ApplyCures(bits uint) Dialect {
	for i, c := range listCures() {
		if bits&(1<<i) != 0 {
			c.apply(&d)
		}
	}
	return d
}
