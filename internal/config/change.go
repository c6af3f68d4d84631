package config

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// Change gives a key the first of the values that it can have, nil for no value, in the user's own file or in the
// project's. It returns the file. What could not be loaded is not written.
func (c *Config) Change(ctx context.Context, project bool, key string, values []jsontext.Value) (string, error) {
	return c.rewrite(ctx, project, func(file string, text []byte) ([]byte, error) { return editFirst(file, text, key, values) })
}

// Merge lays members over the user's own file: objects are merged, everything else is replaced, and null is taken out, if it
// is there. All of it is written, or nothing.
func (c *Config) Merge(ctx context.Context, members map[string]jsontext.Value) error {
	object, err := json.Marshal(members, json.Deterministic(true)) // at the top their order says nothing
	if err != nil {
		return err
	}
	_, err = c.rewrite(ctx, false, func(file string, text []byte) ([]byte, error) { return mergeInto(file, text, "", object) })
	return err
}

func mergeInto(file string, text []byte, path string, object jsontext.Value) (out []byte, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	for _, name := range inOrder(object) {
		value, key := members[name], `"`+name+`"`
		if strings.Contains(name, `"`) || name == "" {
			return nil, session.Errorf(session.CodeInvalid, "%q is not the name of a key", name)
		}
		if path != "" {
			key = path + "." + key
		}
		if len(inOrder(value)) > 0 {
			text, err = mergeInto(file, text, key, value)
		} else {
			text, err = mergeValue(file, text, key, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// inOrder returns the names of an object's members as they are written: in rules the last one counts. Other values have none.
func inOrder(object jsontext.Value) (names []string) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	t, err := d.ReadToken()
	for err == nil && t.Kind() == '{' && d.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = d.ReadToken(); err == nil {
			names = append(names, name.String())
			err = d.SkipValue()
		}
	}
	return names
}

// mergeValue sets the key, or takes out what is null.
func mergeValue(file string, text []byte, key string, value jsontext.Value) ([]byte, error) {
	if value.Kind() != 'n' {
		return editFirst(file, text, key, []jsontext.Value{value})
	}
	out, err := Edit(file, text, key, nil)
	switch {
	case errors.Is(err, errNotSet):
		return text, nil
	case err != nil:
		return nil, changeError(err)
	}
	return out, nil
}

// rewrite replaces the text of a file of the user's or of the project's by what edit makes of it.
func (c *Config) rewrite(ctx context.Context, project bool, edit func(file string, text []byte) ([]byte, error)) (string, error) {
	file, mode := c.file(project)
	lock := filepath.Join(c.Dirs.State, "config") // not beside the user's files
	return file, statefile.Change(ctx, lock, func() error {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		out, err := edit(file, text)
		if err != nil || bytes.Equal(out, text) {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return statefile.Replace(file, out, mode)
	})
}

// editFirst edits with the first value that the key can have; the error is that of the first.
func editFirst(file string, text []byte, key string, values []jsontext.Value) ([]byte, error) {
	var first error
	for _, v := range values {
		out, err := Edit(file, text, key, v)
		if err == nil {
			return out, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, changeError(first)
}

// changeError is the error of Edit as it is told.
func changeError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return session.Errorf(session.CodeInvalid, "%v", err)
}

// file is the file to change: of the two names the one that is there, and that is read later.
func (c *Config) file(project bool) (string, fs.FileMode) {
	dir, mode := c.Dirs.Config, fs.FileMode(0o600)
	if project {
		dir, mode = c.Claim.Root, 0o644
	}
	for _, name := range []string{"cairn.jsonc", "cairn.json"} {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil {
			return file, info.Mode().Perm()
		}
	}
	return filepath.Join(dir, "cairn.json"), mode
}
