package clipboard

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
)

// FindImagePath returns the path of an existing image or PDF if the pasted text is nothing else, as it is when a
// terminal pastes a file that was dropped on it.
func FindImagePath(text string) (path string, ok bool) {
	path = strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "file://"), `'"`)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf":
	default:
		return "", false
	}
	if !filepath.IsAbs(path) || strings.Contains(path, "\n") {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// SaveImage returns the path of a temporary file with the image, which stays as long as the system keeps such
// files: a prompt that waits may mention it.
func SaveImage(ctx context.Context, env func(string) string) (string, error) {
	image, err := ReadImage(ctx, env)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "cairn-clipboard-*.png")
	if err != nil {
		return "", err
	}
	_, err = f.Write(image)
	if err = cmp.Or(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}
