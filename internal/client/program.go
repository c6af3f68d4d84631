package client

import (
	"log/slog"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Program is what a program that opens the store adds to its own process: to all locations of it.
type Program struct {
	Models     []*llm.EmbeddedModel
	Tools      []tool.Tool                       // one takes the place of a built-in tool of its name
	Asking     []string                          // permission actions of the tools that ask before a call, unless a rule says otherwise
	Sources    map[string]systemcontext.Producer // of the system context, by key
	Extensions []extension.Extension
	HasConfig  bool         // it has settings of its own, which another process would not have
	Logger     *slog.Logger // nil: standard error, at the level of CAIRN_LOG
	// IsLibrary: the process is that of another program. Its memory settings stay as they are, and it is an error if
	// another process owns the store while the program adds something to it.
	IsLibrary bool
}

// adds reports whether the program adds something to what a session can use, or to what it may do.
func (p Program) adds() bool {
	return p.HasConfig || len(p.Models)+len(p.Tools)+len(p.Sources)+len(p.Extensions) > 0
}

// NeedsOwnProcess reports whether the store is of no use in another process.
func (p Program) NeedsOwnProcess() bool { return p.IsLibrary && p.adds() }
