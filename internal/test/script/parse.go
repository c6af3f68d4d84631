package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxFile bounds the size of a script file in bytes.
const MaxFile = 16 << 20

// Load reads the script file at path. Errors begin with the path and the line, if it is known.
func Load(path string) (Script, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Script{}, fmt.Errorf("file %s not found", path)
	}
	if err != nil {
		return Script{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return Script{}, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script and validates it.
func Parse(data []byte) (Script, error) {
	if len(data) > MaxFile {
		return Script{}, fmt.Errorf("larger than %d bytes", MaxFile)
	}
	var s Script
	err := json.Unmarshal(data, &s,
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.UnmarshalFunc(parseDuration)))
	if err != nil {
		return Script{}, addLine(data, err)
	}
	if err := s.Validate(); err != nil {
		return Script{}, err
	}
	return s, nil
}

func parseDuration(data []byte, d *time.Duration) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return errors.New(`a duration is a string such as "250ms" or "2s"`)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf(`%q is not a duration; write "250ms" or "2s"`, clip(text, 40))
	}
	*d = parsed
	return nil
}

// UnmarshalJSON accepts one string or an array of strings.
func (c *Chunks) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '[' {
		return json.Unmarshal(data, (*[]string)(c))
	}
	var one string
	if err := json.Unmarshal(data, &one); err != nil {
		return errors.New("text is a string or an array of strings")
	}
	*c = Chunks{one}
	return nil
}

// addLine adds the line of the file to an error of the JSON module.
func addLine(data []byte, err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("line %d: %w", lineOf(data, e.ByteOffset), explainJSONError(err))
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("line %d: %w", lineOf(data, e.ByteOffset), explainJSONError(err))
	}
	return err
}

// explainJSONError returns the problem that the JSON module found, and where in the value. The module's own messages
// differ deliberately between processes.
func explainJSONError(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		cause := e.Err
		switch {
		case errors.Is(cause, json.ErrUnknownName):
			return fmt.Errorf("unknown key %q%s", clip(e.JSONPointer.LastToken(), 60), describePointer(e.JSONPointer.Parent()))
		case cause == nil:
			cause = fmt.Errorf("a JSON %s is not allowed here", kindName(e.JSONKind))
		}
		if e.JSONPointer == "" {
			return cause
		}
		return fmt.Errorf("%s: %w", e.JSONPointer, cause)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(e.Err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("key %q appears twice", clip(e.JSONPointer.LastToken(), 60))
		}
		return e.Err
	}
	return err
}

// kindName returns the name of a JSON kind.
func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	default:
		return k.String()
	}
}

// describePointer names a position in a JSON value; "" for the top.
func describePointer(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return " at " + string(p)
}

// lineOf returns the 1-based line of the first token at or after offset.
func lineOf(data []byte, offset int64) int {
	at := min(max(int(offset), 0), len(data))
	for at < len(data) && bytes.IndexByte([]byte(" \t\r\n,:"), data[at]) >= 0 {
		at++
	}
	return 1 + bytes.Count(data[:at], []byte("\n"))
}

// clip shortens s to n bytes for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
