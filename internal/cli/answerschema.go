package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxSchema bounds the file of --format-schema; the engine's own limit is the same.
const maxSchema = 256 << 10

// answerRetries bounds the attempts of the model to correct the form of its answer.
const answerRetries = 2

// ReadAnswerSchema reads the schema that the answer must fit; nil for none.
func (a *Invocation) ReadAnswerSchema(name string) (*session.Format, error) {
	if name == "" {
		return nil, nil
	}
	path, err := a.ResolvePath(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, UsageErrorf("--format-schema: %s not found", path)
	case err != nil:
		return nil, UsageErrorf("--format-schema: %v", err)
	case !info.Mode().IsRegular() || info.Size() > maxSchema:
		return nil, UsageErrorf("--format-schema: %s is not a regular file of at most %d KiB", path, maxSchema>>10)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, UsageErrorf("--format-schema: %v", err)
	}
	schema := jsontext.Value(data)
	if schema.Compact() != nil || schema.Kind() != '{' {
		return nil, UsageErrorf("--format-schema: %s is not a JSON object", path)
	}
	return &session.Format{Schema: schema, Retries: answerRetries}, nil
}
