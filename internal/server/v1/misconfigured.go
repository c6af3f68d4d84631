package v1

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// misconfigured is the envelope of what is wrong in a configuration that a request needed: the file, and what is wrong in
// it, or that it is no JSON.
type misconfigured struct {
	Name string `json:"name" enum:"ConfigInvalidError,ConfigJsonError"`
	Data struct {
		Path    string  `json:"path"`
		Message string  `json:"message,omitzero"` // of a file that is no JSON
		Issues  []issue `json:"issues,omitzero"`  // of one with wrong values: the first
	} `json:"data"`
}

type issue struct {
	Path    []any  `json:"path"` // names, and numbers of items
	Message string `json:"message"`
}

// misconfiguration returns the envelope if a configuration is what err is about.
func misconfiguration(err error) (m misconfigured, ok bool) {
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		return m, false
	}
	words := e.Message
	if e.Line > 0 {
		words = fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	words = httpio.Clip(words, maxMessage)
	m.Data.Path = e.File
	if e.Key == "" {
		m.Name, m.Data.Message = "ConfigJsonError", words
		return m, true
	}
	m.Name, m.Data.Issues = "ConfigInvalidError", []issue{{steps(e.Key), words}}
	return m, true
}

// steps are the names and the numbers of a key such as mcp.x.command[1].
func steps(key string) []any {
	var out []any
	for name := range strings.SplitSeq(strings.ReplaceAll(key, "[", ".["), ".") {
		n, err := strconv.Atoi(strings.Trim(name, "[]"))
		switch {
		case name == "":
		case strings.HasPrefix(name, "[") && err == nil:
			out = append(out, n)
		default:
			out = append(out, name)
		}
	}
	return out
}
