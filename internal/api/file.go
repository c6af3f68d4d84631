package api

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

// FileQuery is what is looked for by its name: of one type, or of both with "".
type FileQuery struct {
	Query string
	Type  string
	Limit int
}
