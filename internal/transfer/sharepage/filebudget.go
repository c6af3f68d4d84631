package sharepage

import (
	"fmt"
	"sync"

	"github.com/cairn-dev/cairn/internal/fileattr"
)

const (
	// maxFiles bounds the temporary files of all pages, in bytes.
	maxFiles = 1 << 30
	// minFree is what the files leave of their disk, in bytes. It is more than what the store of the sessions needs.
	minFree = 128 << 20
)

// fileBudget bounds the temporary files of all pages: readers, who need no credentials, must not fill the disk. The zero
// value is ready for use.
type fileBudget struct {
	mu   sync.Mutex // guards used
	used int64      // bytes
}

// take takes n bytes for a file in a directory, or returns why there are not as many. It looks at the disk once per MiB.
func (b *fileBudget) take(dir string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > maxFiles {
		return fmt.Errorf("the open shared pages have more than %d MiB", maxFiles>>20)
	}
	if b.used>>20 != (b.used+n)>>20 {
		if free, ok := fileattr.FreeSpace(dir); ok && free < minFree+n {
			return fmt.Errorf("the disk of %s has only %d MiB left, too few for shared pages", dir, free>>20)
		}
	}
	b.used += n
	return nil
}

// free gives n bytes back.
func (b *fileBudget) free(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}
