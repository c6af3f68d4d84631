//go:build unix

package exec

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/tool"
)

// TestLateReader: what a command wrote is read although the pipe's deadline passed before the reader came, and the
// reader does not wait for processes that hold the pipe.
func TestLateReader(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	want := strings.Repeat("line\n", 12_000)
	if _, err := write.WriteString(want); err != nil {
		t.Fatal(err)
	}
	if err := read.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	o := &commandOutput{capture: tool.NewCapture(nil, tool.Limits{Bytes: 1 << 20, Lines: 1 << 20}, nil)}
	o.copyFrom(read)
	if got := o.finishCapture(t.Context()).Text; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}
