package clipboard

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReadImage: the image of the desktop's program is returned; everything else is an error that says what to do.
func TestReadImage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program is a shell script named xclip")
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	display := func(name string) string { return map[string]string{"DISPLAY": ":7"}[name] }
	for name, c := range map[string]struct {
		script string // "" is no program
		env    func(string) string
		want   string // of the error
	}{
		"image":      {`printf '\211PNG\r\n\032\nrest'`, display, ""},
		"text":       {"echo words", display, "no image"},
		"failure":    {`printf '\211PNG\r\n\032\nrest'; exit 1`, display, "no image"},
		"large":      {fmt.Sprintf("head -c %d /dev/zero", MaxImage+1), display, "20 MiB"},
		"no desktop": {"", func(string) string { return "" }, "over SSH"},
		"no program": {"", func(name string) string {
			return map[string]string{"WAYLAND_DISPLAY": "wayland-0"}[name]
		}, "install the package wl-clipboard"},
	} {
		t.Run(name, func(t *testing.T) {
			script := "#!/bin/sh\n" + c.script + "\n"
			if err := os.WriteFile(filepath.Join(bin, "xclip"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			image, err := ReadImage(t.Context(), c.env)
			switch {
			case c.want == "" && (err != nil || !strings.HasSuffix(string(image), "rest")):
				t.Errorf("%q %v", image, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
