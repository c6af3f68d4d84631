package api

import (
	"context"
	"net/url"
	"strconv"
)

// FileEntry is a file or a directory of a location. The path is relative to the location; a directory's ends with a
// slash.
type FileEntry struct {
	Path string `json:"path"`
	Type string `json:"type" enum:"file,directory"`
}

// The types of a FileEntry.
const (
	TypeFile      = "file"
	TypeDirectory = "directory"
)

// FileQuery selects files by name: of one type, or of both with "".
type FileQuery struct {
	Query string
	Type  string
	Limit int
}

// FileSearch finds files.
type FileSearch struct{ Client *Client }

// FindFiles finds files of the client's location by their names, the best matches first.
func (f FileSearch) FindFiles(ctx context.Context, q FileQuery) (AtLocation[[]FileEntry], error) {
	v := url.Values{"query": {q.Query}}
	if q.Type != "" {
		v.Set("type", q.Type)
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[AtLocation[[]FileEntry]](ctx, f.Client, apiPath("fs", "find"), v)
}
