package fileattr

import (
	"io"
	"math/rand/v2"
	"os"
)

// writeNoise writes n bytes that no file system compresses.
func writeNoise(f *os.File, n int64) error {
	_, err := io.CopyN(f, rand.NewChaCha8([32]byte{}), n)
	return err
}
