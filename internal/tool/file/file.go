// Package file has the tools that read and change files: read, edit, write and apply_patch.
//
// A change is planned on the file as it is, shown as a diff with the permission request, planned again after the
// answer, and written only if both plans make the same change. A file that changed since the session last saw it is not
// written. All files of one call are changed, or none.
package file

import (
	"context"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Config configures the tools of one Location.
type Config struct {
	Paths workpath.Resolver

	// InstructionFiles are names of files with instructions. A read shows those between the file and the Location. Of one
	// directory the first that exists counts.
	InstructionFiles []string

	// Format runs the formatters of a file that a call has written; they change it in place. Nil formats nothing.
	Format func(ctx context.Context, path string) []FormatterRun

	// Diagnose returns what language servers say after a change. It is bounded in time. Nil without servers.
	Diagnose func(ctx context.Context, changed ChangedPaths) Diagnosis
	// Warm prepares language servers for changes of a file that a call reads. It must not block. Nil without servers.
	Warm func(path string)

	// Unsaved returns the text of a file as an editor of the user has it, for a session that the editor follows; ok is
	// false without one. It is bounded in time. Nil without editors.
	Unsaved func(ctx context.Context, id session.ID, path string) (text string, ok bool)

	Images  ImageLimits // of images that read returns
	Tracker *Tracker    // shared by all Locations of a process; nil: each gets its own
}

// fileTools is the state that the tools of a Location share.
type fileTools struct{ config Config }

func newFileTools(c Config) *fileTools {
	if c.Tracker == nil {
		c.Tracker = NewTracker()
	}
	c.Images = c.Images.withDefaults()
	return &fileTools{c}
}

// New returns the tools. They keep nothing open between calls.
func New(c Config) []tool.Tool {
	s := newFileTools(c)
	return []tool.Tool{&readTool{s}, &editTool{s}, &writeTool{s}, &patchTool{s}}
}

// Requests returns the permission requests of a call that reads, lists or changes a path, in order. Of any other
// action, and of a path that cannot be resolved, it is the resource as given. It asks and changes nothing.
func Requests(paths workpath.Resolver, action, resource string) []tool.Request {
	unresolved := []tool.Request{{Action: action, Resources: []string{resource}}}
	if action != "read" && action != "list" && action != permission.Edit {
		return unresolved
	}
	p, err := paths.Resolve(resource)
	switch {
	case err != nil:
		return unresolved
	case action == "read" && paths.IsManagedOutput(p):
		return nil
	}
	out := p.OutsideRequests()
	if action == permission.Edit {
		out = outsideRequests([]workpath.Path{p})
	}
	return append(out, tool.Request{Action: action, Resources: []string{p.Resource()}})
}
