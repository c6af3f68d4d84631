// Package clipboard reads images from the clipboard of the desktop on which the terminal runs. Terminals paste text
// only, so that an image needs a program of the desktop.
package clipboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"
)

// The bounds of an image.
const (
	MaxImage = 20 << 20 // bytes
	timeout  = 5 * time.Second
)

var pngHeader = []byte("\x89PNG\r\n\x1a\n")

// errNoImage says that the clipboard holds no image, or that the desktop did not give it.
var errNoImage = errors.New("the clipboard holds no image")

// ReadImage returns the image in the clipboard as PNG. env is the environment of the terminal.
func ReadImage(ctx context.Context, env func(string) string) ([]byte, error) {
	// Find the program that reads this system's clipboard, or say what to install.
	argv, advice := selectProgram(runtime.GOOS, env)
	if argv == nil {
		return nil, errors.New(advice)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, fmt.Errorf("%s was not found; %s", argv[0], advice)
	}
	// Run it with a time limit and read at most one byte more than an image may have.
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	image, err := io.ReadAll(io.LimitReader(out, MaxImage+1))
	// A larger image ends the program, which would wait for its output to be read otherwise.
	if len(image) > MaxImage {
		cancel()
	}
	exit := cmd.Wait()
	// A program that fails or prints anything else than a PNG has no image to give.
	switch {
	case len(image) > MaxImage:
		return nil, fmt.Errorf("the image has more than %d MiB", MaxImage>>20)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not answer within %v", argv[0], timeout)
	case err != nil, exit != nil, !bytes.HasPrefix(image, pngHeader):
		return nil, errNoImage
	}
	return image, nil
}

// selectProgram returns the program that writes the image to its standard output, and how to get it.
func selectProgram(system string, env func(string) string) (argv []string, advice string) {
	switch {
	case system == "darwin":
		return []string{"pngpaste", "-"}, "install it with: brew install pngpaste"
	case system == "windows":
		return nil, "images cannot be read from the clipboard of Windows; paste the path of a file"
	case env("WAYLAND_DISPLAY") != "":
		return []string{"wl-paste", "--type", "image/png"}, "install the package wl-clipboard"
	case env("DISPLAY") != "":
		return []string{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"}, "install the package xclip"
	default:
		return nil, "no desktop session was found, for example over SSH; paste the path of a file"
	}
}
