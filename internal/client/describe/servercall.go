package describe

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// serverCall is the call of an MCP server's tool that an ask carries.
type serverCall struct {
	Server      string         `json:"server"`
	Tool        string         `json:"tool"`
	Input       jsontext.Value `json:"input"`
	ReadOnly    bool           `json:"readOnlyHint"`
	Destructive bool           `json:"destructiveHint"`
}

// readServerCall reads the metadata of an ask; ok is false if it is about something else.
func readServerCall(metadata jsontext.Value) (c serverCall, ok bool) {
	err := json.Unmarshal(metadata, &c, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return c, err == nil && c.Server != "" && c.Tool != ""
}

// describe names the server, and what it says of the tool's effects, which proves nothing.
func (c serverCall) describe() string {
	text := " of the MCP server " + terminal.FirstLine(c.Server, 100)
	switch {
	case c.ReadOnly:
		text += ", which says that it only reads"
	case c.Destructive:
		text += ", which says that it may destroy"
	}
	return text
}

// listArguments returns the arguments of the call, texts as they are and other values as JSON, in at most
// maxPreviewLines lines and one that counts the others.
func (c serverCall) listArguments() (lines []string) {
	var named map[string]jsontext.Value
	if json.Unmarshal(c.Input, &named, jsontext.AllowInvalidUTF8(true)) != nil {
		return strings.Split(indentRest(cmp.Or(string(c.Input), "no arguments")), "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		value := string(named[name])
		var text string
		if json.Unmarshal(named[name], &text, jsontext.AllowInvalidUTF8(true)) == nil {
			value = text
		}
		lines = append(lines, strings.Split(indentRest(name+": "+value), "\n")...)
	}
	return cutPreview(lines)
}
