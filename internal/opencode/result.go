package opencode

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// ownMetadata are the metadata members that OpenCode's tools do not have, by tool; "" applies to all.
var ownMetadata = map[string][]string{
	"":      {"seen"},
	"bash":  {"description", "timeout"},
	"edit":  {"exists", "filepath"},
	"read":  {"reminder"},
	"write": {"diff", "filediff"},
}

// metadataOf returns a call's metadata in OpenCode's shape, or nil.
func metadataOf(name string, s session.ToolState) jsontext.Value {
	m := membersOfObject(objectOr(s.Structured, nil))
	if m == nil {
		return nil
	}
	for _, of := range []string{"", name} {
		for _, member := range ownMetadata[of] {
			delete(m, member)
		}
	}
	if name == "read" {
		readDisplay(m, s)
	}
	return objectOf(m)
}

// readDisplay adds the text of a page, which the store keeps once only, in the model's output.
func readDisplay(m map[string]jsontext.Value, s session.ToolState) {
	display := membersOfObject(m["display"])
	var at struct {
		Type      string `json:"type"`
		LineStart int    `json:"lineStart"`
		LineEnd   int    `json:"lineEnd"`
	}
	if json.Unmarshal(m["display"], &at) != nil || at.Type != "file" || display["text"] != nil {
		return
	}
	_, page, _ := strings.Cut(textOf(s.Content), "<content>\n")
	var lines []string
	for n := at.LineStart; n <= at.LineEnd; n++ {
		line, rest, _ := strings.Cut(page, "\n")
		text, numbered := strings.CutPrefix(line, fmt.Sprintf("%d: ", n))
		if !numbered {
			break
		}
		lines, page = append(lines, text), rest
	}
	text, err := json.Marshal(strings.Join(lines, "\n"))
	if err != nil {
		return
	}
	display["text"] = text
	m["display"] = objectOf(display)
}

// outputOf returns a call's output. The exit code of a failed command, which the model reads in the text, is in the
// metadata here; the instruction files beside a file, which the model reads in its system context, are in the output.
func outputOf(name string, s session.ToolState) string {
	text := textOf(s.Content)
	if name == "read" {
		var nearby struct {
			Reminder string `json:"reminder"`
		}
		_ = json.Unmarshal(objectOr(s.Structured, emptyObject), &nearby) // "" if it has none
		return text + nearby.Reminder
	}
	if name != "bash" {
		return text
	}
	var end struct {
		Exit *int `json:"exit"`
	}
	before, note, ok := cutLast(text, "\n\n<shell_metadata>\n")
	if ok && json.Unmarshal(objectOr(s.Structured, emptyObject), &end) == nil && end.Exit != nil &&
		strings.HasPrefix(note, fmt.Sprintf("The command ended with exit code %d.", *end.Exit)) {
		return before
	}
	return text
}

// titleOf returns a call's title: a whole command, or all files of a patch, where cairn's own titles are one line.
func titleOf(name string, s session.ToolState) string {
	switch name {
	case "apply_patch":
		return textOf(s.Content)
	case "bash":
		var in struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(objectOr(s.Input, emptyObject), &in) == nil && in.Command != "" {
			return in.Command
		}
	}
	return s.Title
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// membersOfObject returns the members of an object; nil for other values.
func membersOfObject(v jsontext.Value) (m map[string]jsontext.Value) {
	if v.Kind() == '{' && json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}

// objectOf returns the object with the members.
func objectOf(m map[string]jsontext.Value) jsontext.Value { return encodeValue(m) }

// encodeValue returns v as JSON, or an empty object if it cannot be encoded.
func encodeValue(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return emptyObject
	}
	return b
}
