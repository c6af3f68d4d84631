package file_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool/file"
)

// TestFormatted: what a formatter changes is part of the change and of its message, and the session has seen it; what a
// failed one left is replaced by what the call wrote.
func TestFormatted(t *testing.T) {
	shout := func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.ToUpper(string(text))), 0o600)
		}
		return err
	}
	for name, c := range map[string]struct {
		run     func(path string) error
		want    string
		message string
	}{
		"formats":         {shout, "ONE\n", "shout formatted "},
		"changes nothing": {func(string) error { return nil }, "one\n", ""},
		"leaves half": {func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("o"), 0o600), errors.New("no such style"))
		}, "one\n", "which is as you wrote it: no such style"},
		"makes it binary": {func(path string) error {
			return os.WriteFile(path, []byte("\x7fELF\x00secret"), 0o600)
		}, "", "made "},
		"removes it": {os.Remove, "", "may have left "},
	} {
		t.Run(name, func(t *testing.T) {
			b := tooltest.New(t, func(cfg *tooltest.Config) {
				cfg.File.Format = func(_ context.Context, path string) []file.FormatterRun {
					return []file.FormatterRun{{Name: "shout", Err: c.run(path)}}
				}
			})
			done := b.Call("write", tooltest.Input{"filePath": "a.txt", "content": "one\n"})
			if text := tooltest.TextOf(done); done.Error != nil || !strings.Contains(text, c.message) ||
				(c.message == "") != (text == "Wrote file successfully.") {
				t.Errorf("%q", text)
			}
			if strings.Contains(tooltest.TextOf(done), "ELF") {
				t.Error("the result has the binary content")
			}
			if c.want == "" {
				return
			}
			if got := b.ReadFile("a.txt"); got != c.want {
				t.Errorf("the file has %q, want %q", got, c.want)
			}
			// The session may change the file again without a read.
			again := b.Call("edit", tooltest.Input{"filePath": "a.txt", "oldString": c.want, "newString": "two\n"})
			if again.Error != nil {
				t.Error(again.Error)
			}
		})
	}
}

// A formatter that puts a link in place of the file brings in nothing of the link's target, and a failed one makes
// nothing be written there.
func TestFormatterLeavesALink(t *testing.T) {
	for name, c := range map[string]struct {
		link func(old, name string) error
		err  error
	}{
		"symbolic":         {os.Symlink, nil},
		"symbolic, failed": {os.Symlink, errors.New("no such style")},
		"hard":             {os.Link, nil},
		"hard, failed":     {os.Link, errors.New("no such style")},
	} {
		t.Run(name, func(t *testing.T) {
			secret := ""
			b := tooltest.New(t, func(cfg *tooltest.Config) {
				cfg.File.Format = func(_ context.Context, path string) []file.FormatterRun {
					if err := errors.Join(os.Remove(path), c.link(secret, path)); err != nil {
						t.Error(err)
					}
					return []file.FormatterRun{{Name: "evil", Err: c.err}}
				}
			})
			secret = b.OutsidePath("secret")
			if err := os.WriteFile(secret, []byte("the secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			done := b.Call("write", tooltest.Input{"filePath": "a.txt", "content": "one\n"})
			text := tooltest.TextOf(done)
			if done.Error != nil || strings.Contains(text, "the secret") || !strings.Contains(text, "may have left ") {
				t.Errorf("%q %v", text, done.Error)
			}
			if got, err := os.ReadFile(secret); err != nil || string(got) != "the secret\n" {
				t.Errorf("the link's target has %q, %v", got, err)
			}
		})
	}
}

// After a formatter that took too long no other file of the call is formatted.
func TestFormatterTakesTooLong(t *testing.T) {
	var paths []string
	b := tooltest.New(t, func(cfg *tooltest.Config) {
		cfg.File.Format = func(ctx context.Context, path string) []file.FormatterRun {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the formatters of a call have no deadline")
			}
			paths = append(paths, path)
			return []file.FormatterRun{{Name: "slow", Err: errors.New("it did not end in time"), Late: true}}
		}
	})
	patch := "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Add File: b.txt\n+two\n*** End Patch"
	done := b.Call("apply_patch", tooltest.Input{"patchText": patch})
	if text := tooltest.TextOf(done); len(paths) != 1 || !strings.Contains(text, "The files after it are not formatted.") {
		t.Errorf("%q %q %v", paths, text, done.Error)
	}
}

// A formatter that makes a file executable, or not, is undone: the undo of the call would take the file for changed by
// others.
func TestFormatterChangesTheMode(t *testing.T) {
	for name, c := range map[string]struct{ before, to os.FileMode }{
		"executable": {0o600, 0o755}, "not executable": {0o700, 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			b := tooltest.New(t, func(cfg *tooltest.Config) {
				cfg.File.Format = func(_ context.Context, path string) []file.FormatterRun {
					return []file.FormatterRun{{Name: "chmod", Err: os.Chmod(path, c.to)}}
				}
			})
			b.WriteFile("a.txt", "one\n")
			if err := os.Chmod(b.Path("a.txt"), c.before); err != nil {
				t.Fatal(err)
			}
			b.Call("read", tooltest.Input{"filePath": "a.txt"})
			if done := b.Call("write", tooltest.Input{"filePath": "a.txt", "content": "two\n"}); done.Error != nil {
				t.Fatal(done.Error)
			}
			info, err := os.Stat(b.Path("a.txt"))
			if err != nil || (info.Mode()&0o111 != 0) != (c.before&0o111 != 0) {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
		})
	}
}
