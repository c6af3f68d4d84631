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

// formRetries is how often the model may try again for the form of its answer.
const formRetries = 2

// form reads the schema that the answer must fit; nil for none.
func (a *app) form(name string) (*session.Format, error) {
	if name == "" {
		return nil, nil
	}
	path, err := a.absolute(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("--format-schema: there is no file %s", path)
	case err != nil:
		return nil, usagef("--format-schema: %v", err)
	case !info.Mode().IsRegular() || info.Size() > maxSchema:
		return nil, usagef("--format-schema: %s is no file of at most %d KiB", path, maxSchema>>10)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--format-schema: %v", err)
	}
	schema := jsontext.Value(data)
	if schema.Compact() != nil || schema.Kind() != '{' {
		return nil, usagef("--format-schema: %s is not a JSON object", path)
	}
	return &session.Format{Schema: schema, Retries: formRetries}, nil
}
