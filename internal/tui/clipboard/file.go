package clipboard

import (
	"cmp"
	"context"
	"os"
)

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
