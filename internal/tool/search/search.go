// Package search has the tools that find files and text: glob, grep and list, and a Browser that shows people the same
// files.
//
// A search lists names by path, applies the ignore files, and opens every file beneath the root of the Location without
// following links. Results, bytes and time are bounded.
package search

import (
	"log/slog"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Config configures the tools of one Location.
type Config struct {
	Paths workpath.Resolver
	Log   *slog.Logger
}

// searchTools is the state that the tools of a Location share.
type searchTools struct{ config Config }

func newSearchTools(c Config) *searchTools {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &searchTools{c}
}

// New returns the tools. They keep nothing open between calls.
func New(c Config) []tool.Tool {
	s := newSearchTools(c)
	return []tool.Tool{&listTool{s}, &globTool{s}, &grepTool{s}}
}
