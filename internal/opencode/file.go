package opencode

// FileNode is a file or a directory of a listing. The path of a directory ends with a slash.
type FileNode struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Absolute string `json:"absolute"`
	Type     string `json:"type" enum:"file,directory"`
	Ignored  bool   `json:"ignored"`
}

// FileContent is the content of a file, in base64 if it is not text.
type FileContent struct {
	Type     string `json:"type" enum:"text,binary"`
	Content  string `json:"content"`
	Encoding string `json:"encoding,omitzero" enum:"base64"`
	MimeType string `json:"mimeType,omitzero"`
}

// Match is a matching line in the form of ripgrep's JSON records.
type Match struct {
	Path           Text       `json:"path"`
	Lines          Text       `json:"lines"`
	LineNumber     int        `json:"line_number"`
	AbsoluteOffset int64      `json:"absolute_offset"`
	Submatches     []Submatch `json:"submatches"`
}

// Text is a text in a ripgrep record.
type Text struct {
	Text string `json:"text"`
}

// Submatch is a match within a line, in bytes.
type Submatch struct {
	Match Text `json:"match"`
	Start int  `json:"start"`
	End   int  `json:"end"`
}
