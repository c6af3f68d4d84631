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
