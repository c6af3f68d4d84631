package tooltest_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// While a directory is exchanged for a link to the outside as fast as possible, no tool reads or changes anything
// outside. CAIRN_TEST_RACE sets the duration, e.g. 30s.
func TestSwappedLinks(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile(b.OutsidePath("other/f.txt"), "canary\n")
	b.WriteFile("dir/f.txt", "harmless\n")
	b.WriteFile(b.OutsidePath("other/h.txt"), "canary\n")
	b.WriteFile("dir/h.txt", "harmless\n")
	b.Symlink(b.OutsidePath("other"), "link")
	b.OnAsk = func(tool.Request) { // widens the window between the permission request and the opening
		for range 5 {
			_, _ = os.Lstat(b.Path("dir"))
		}
	}
	swaps, stop := swapDirectories(b)
	defer stop()
	start, duration := time.Now(), testDuration(t)
	shown := 0
	for {
		took := time.Since(start)
		if proved := swaps.Load() >= 1000 && shown > 0; took > duration && proved || took > duration+time.Minute {
			break
		}
		for _, c := range []struct {
			tool string
			in   tooltest.Input
		}{
			{"read", tooltest.Input{"filePath": "dir/f.txt"}},
			{"grep", tooltest.Input{"pattern": "canary|harmless"}},
			{"grep", tooltest.Input{"pattern": "canary|harmless", "path": "dir/f.txt"}},
			{"edit", tooltest.Input{"filePath": "dir/f.txt", "oldString": "canary", "newString": "broken"}},
			{"write", tooltest.Input{"filePath": "dir/g.txt", "content": "planted"}},
			{
				"apply_patch",
				patchInput("*** Add File: dir/g.txt", "+planted", "*** Update File: dir/f.txt", "@@", "-canary", "+broken"),
			},
			{"apply_patch", patchInput("*** Update File: dir/h.txt", "*** Move to: dir/i.txt")},
			{"apply_patch", patchInput("*** Update File: dir/i.txt", "*** Move to: dir/h.txt")},
		} {
			s := b.Call(c.tool, c.in)
			if got := tooltest.TextOf(s); strings.Contains(got, "canary") && s.Error == nil {
				t.Fatalf("%s shows %s", c.tool, got)
			} else if strings.Contains(got, "harmless") {
				shown++
			}
		}
		b.TakeRequests()
	}
	stop()
	if got := b.ReadFile(b.OutsidePath("other/f.txt")); got != "canary\n" {
		t.Fatalf("changed: %q", got)
	}
	if left, err := os.ReadDir(b.OutsidePath("other")); err != nil || len(left) != 2 || left[0].Name() != "f.txt" ||
		left[1].Name() != "h.txt" {
		t.Fatal("files were planted or moved", left, err)
	}
	if swaps.Load() < 1000 || shown == 0 {
		t.Fatalf("%d swaps, %d times shown: this proves nothing", swaps.Load(), shown)
	}
	t.Logf("%d swaps, %d times shown", swaps.Load(), shown)
}

func testDuration(t *testing.T) time.Duration {
	if s := os.Getenv("CAIRN_TEST_RACE"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return time.Second
}

// swapDirectories exchanges dir and link until stop is called, and counts the exchanges.
func swapDirectories(b *tooltest.Bench) (swaps *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	swaps = &atomic.Int64{}
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for ctx.Err() == nil {
			if unix.Renameat2(unix.AT_FDCWD, b.Path("dir"), unix.AT_FDCWD, b.Path("link"), unix.RENAME_EXCHANGE) == nil {
				swaps.Add(1)
			}
		}
	})
	return swaps, func() {
		cancel()
		swapping.Wait()
	}
}
