package v1

import (
	"context"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// fileHandlers reads and searches the files of a location.
type fileHandlers struct{ *dependencies }

// pathIn is a request about a file or a directory.
type pathIn struct {
	locationIn
	Path string `query:"path" required:"true"`
}

func (h fileHandlers) listFiles(ctx context.Context, in pathIn) ([]opencode.FileNode, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	list, err := l.Files.List(in.Path)
	return list, httpio.WithPart("query", err)
}

func (h fileHandlers) readFile(ctx context.Context, in pathIn) (opencode.FileContent, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return opencode.FileContent{}, err
	}
	c, err := l.Files.Read(in.Path)
	return c, httpio.WithPart("query", err)
}

func (h fileHandlers) searchText(ctx context.Context, in struct {
	locationIn
	Pattern string `query:"pattern" required:"true"`
},
) ([]opencode.Match, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	list, err := l.Files.Grep(ctx, in.Pattern)
	return list, httpio.WithPart("query", err)
}

// findFiles ranks the files, and the directories if they are asked for, by how well they match the query.
func (h fileHandlers) findFiles(ctx context.Context, in struct {
	locationIn
	Query string `query:"query" required:"true"`
	Dirs  string `query:"dirs" enum:"true,false"`
	Type  string `query:"type" enum:"file,directory"`
	Limit int64  `query:"limit" default:"10" min:"1" max:"200"`
},
) ([]string, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	return l.Files.Find(ctx, FileQuery{
		Query: in.Query, Files: in.Type != "directory", Limit: int(in.Limit),
		Directories: in.Type == "directory" || in.Type == "" && in.Dirs != "false",
	})
}
