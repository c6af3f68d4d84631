package config

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// ChangeValue sets a key to the first of values that is valid for it, or removes it if that value is nil, in the user's
// file or in the project's. It returns the file's path. An edit that would make the file invalid is not written.
func (c *Config) ChangeValue(ctx context.Context, project bool, key string, values []jsontext.Value) (string, error) {
	return c.rewrite(
		ctx,
		project,
		func(file string, text []byte) ([]byte, error) { return editFirst(file, text, key, values) },
	)
}

// ChangeValues sets keys as ChangeValue does: all or none.
func (c *Config) ChangeValues(ctx context.Context, project bool, values map[string]jsontext.Value) (string, error) {
	return c.rewrite(ctx, project, func(file string, text []byte) (out []byte, err error) {
		out = text
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if out, err = editFirst(file, out, key, []jsontext.Value{values[key]}); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// MergeUser merges members into the user's file: objects are merged, other values replaced, null removes a key. Either
// all members are written or none.
func (c *Config) MergeUser(ctx context.Context, members map[string]jsontext.Value) error {
	object, err := json.Marshal(members, json.Deterministic(true)) // the order of top-level members has no meaning
	if err != nil {
		return err
	}
	_, err = c.rewrite(
		ctx,
		false,
		func(file string, text []byte) ([]byte, error) { return mergeInto(file, text, "", object) },
	)
	return err
}

func mergeInto(file string, text []byte, path string, object jsontext.Value) (out []byte, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	for _, name := range memberNames(object) {
		value, key := members[name], `"`+name+`"`
		if strings.Contains(name, `"`) || name == "" {
			return nil, session.Errorf(session.CodeInvalid, "invalid key %q: a key must not be empty or contain quotes", name)
		}
		if path != "" {
			key = path + "." + key
		}
		if len(memberNames(value)) > 0 {
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

// memberNames returns the names of an object's members in written order, which matters for permission rules. It returns
// nil for other values.
func memberNames(object jsontext.Value) (names []string) {
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

// mergeValue sets the key, or removes it if the value is null.
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

// rewrite applies edit to the text of the user's or the project's file, under a lock.
func (c *Config) rewrite(
	ctx context.Context,
	project bool,
	edit func(file string, text []byte) ([]byte, error),
) (string, error) {
	file, mode := c.targetFile(project)
	lock := filepath.Join(c.Dirs.State, "config") // not beside the user's files
	return file, statefile.WithLock(ctx, lock, func() error {
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

// editFirst sets the key to the first value that is valid for it. Its error is that of the first value.
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
	if unknown := CheckKey(key); errors.Is(first, errNotSet) && unknown != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", unknown)
	}
	return nil, changeError(first)
}

// changeError makes an error of Edit one that callers may show.
func changeError(err error) error {
	if e, ok := errors.AsType[*document.Error](err); ok {
		return e
	}
	return session.Errorf(session.CodeInvalid, "%v", err)
}

// TargetFile returns the file of the user or of the project that ChangeValue changes. It may not exist yet.
func (c *Config) TargetFile(project bool) string {
	file, _ := c.targetFile(project)
	return file
}

// targetFile returns the file to change and its mode: the existing one of the two names, cairn.jsonc first because it
// is read last.
func (c *Config) targetFile(project bool) (string, fs.FileMode) {
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
