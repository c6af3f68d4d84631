package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const resultKey = "$result"

// fillArguments returns args with every {"$result": …} replaced by the string that find returns for it. Other bytes do
// not change.
func fillArguments(args jsontext.Value, find func(Result) (string, error)) (jsontext.Value, error) {
	if !strings.Contains(string(args), "result") {
		return args, nil
	}
	switch args.Kind() {
	case '{':
		return fillObject(args, find)
	case '[':
		var items []jsontext.Value
		if err := json.Unmarshal(args, &items); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		for i := range items {
			var err error
			if items[i], err = fillArguments(items[i], find); err != nil {
				return nil, err
			}
		}
		return json.Marshal(items)
	default:
		return args, nil
	}
}

func fillObject(args jsontext.Value, find func(Result) (string, error)) (jsontext.Value, error) {
	keys, members, err := membersOf(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if ref, ok := members[resultKey]; ok {
		return resolveReference(ref, len(keys), find)
	}
	var out strings.Builder
	enc := jsontext.NewEncoder(&out)
	_ = enc.WriteToken(jsontext.BeginObject)
	for _, key := range keys {
		value, err := fillArguments(members[key], find)
		if err != nil {
			return nil, err
		}
		_ = enc.WriteToken(jsontext.String(key))
		if err := enc.WriteValue(value); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
	}
	_ = enc.WriteToken(jsontext.EndObject)
	return jsontext.Value(strings.TrimSpace(out.String())), nil
}

// membersOf returns the members of a JSON object and their order.
func membersOf(object jsontext.Value) ([]string, map[string]jsontext.Value, error) {
	dec := jsontext.NewDecoder(strings.NewReader(string(object)))
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	var keys []string
	members := map[string]jsontext.Value{}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		key := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
		members[key] = value.Clone()
	}
	_, err := dec.ReadToken()
	return keys, members, err
}

func resolveReference(ref jsontext.Value, siblings int, find func(Result) (string, error)) (jsontext.Value, error) {
	if siblings != 1 {
		return nil, fmt.Errorf("%s must be the only key of its object", resultKey)
	}
	var r Result
	if err := json.Unmarshal(ref, &r, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", resultKey, explainJSONError(err))
	}
	text, err := find(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(text, jsontext.AllowInvalidUTF8(true))
}

// resolve returns the text that r selects from the tool results of messages.
func (r Result) resolve(messages []llm.Message) (string, error) {
	text, err := r.findText(messages)
	if err != nil {
		return "", err
	}
	if r.Line != 0 {
		if text, err = lineIn(text, r.Line); err != nil {
			return "", err
		}
	}
	if r.Regexp == "" {
		return text, nil
	}
	re, err := regexp.Compile(r.Regexp)
	if err != nil {
		return "", fmt.Errorf("$result: regexp: %w", err)
	}
	found := re.FindStringSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("$result: %q matches nothing in the tool result", clip(r.Regexp, 80))
	}
	group := min(1, re.NumSubexp())
	if r.Group != nil {
		group = *r.Group
	}
	return found[group], nil
}

func (r Result) findText(messages []llm.Message) (string, error) {
	results := resultsOf(messages)
	if r.Call != "" {
		for i := len(results) - 1; i >= 0; i-- {
			if results[i].ID == r.Call {
				return textOf(results[i].Content), nil
			}
		}
		return "", fmt.Errorf("$result: the request has no result of call %q", clip(r.Call, 80))
	}
	at := -1
	if r.Index != nil {
		at = *r.Index
	}
	if at < 0 {
		at += len(results)
	}
	if at < 0 || at >= len(results) {
		return "", fmt.Errorf("$result: the request has %d tool results", len(results))
	}
	return textOf(results[at].Content), nil
}

func lineIn(text string, n int) (string, error) {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	at := n - 1
	if n < 0 {
		at = len(lines) + n
	}
	if at < 0 || at >= len(lines) {
		return "", fmt.Errorf("$result: the tool result has %d lines, not line %d", len(lines), n)
	}
	return strings.TrimSuffix(lines[at], "\r"), nil
}

func resultsOf(messages []llm.Message) []llm.ToolResult {
	var results []llm.ToolResult
	for _, m := range messages {
		results = slices.AppendSeq(results, llm.PartsOf[llm.ToolResult](m.Parts))
	}
	return results
}

// textOf joins the text parts.
func textOf(parts []llm.Part) string {
	var texts []string
	for t := range llm.PartsOf[llm.Text](parts) {
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, "\n")
}
