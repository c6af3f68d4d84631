package terminal

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// What is in a pipe when its reader leaves is lost, and an error.
func TestAwaitPipe(t *testing.T) {
	tests := map[string]struct {
		read  int  // bytes, before the reader leaves
		lost  bool // something is left
		stays bool // the reader stays
	}{
		"read to the end": {read: 6},
		"left at once":    {lost: true},
		"left half":       {read: 3, lost: true},
		"stays and reads": {read: 6, stays: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			defer r.Close()
			if _, err := w.WriteString("export"); err != nil {
				t.Fatal(err)
			}
			go func() {
				_, _ = r.Read(make([]byte, tt.read))
				if !tt.stays {
					_ = r.Close()
				}
			}()
			if err := AwaitPipe(w, time.Minute); errors.Is(err, syscall.EPIPE) != tt.lost {
				t.Errorf("AwaitPipe() = %v, want lost %t", err, tt.lost)
			}
		})
	}
	// A file is no pipe.
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := AwaitPipe(f, time.Minute); err != nil {
		t.Error(err)
	}
}
