package builtin_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/tool"
)

// While somebody swaps a directory for a link to the outside as fast as possible, no tool ever shows or changes what
// is there. CAIRN_TEST_RACE lengthens the test, e.g. to 30s.
func TestSwappedLinks(t *testing.T) {
	b := newBench(t)
	b.file(b.outside("other/f.txt"), "canary\n")
	b.file("dir/f.txt", "harmless\n")
	b.file(b.outside("other/h.txt"), "canary\n")
	b.file("dir/h.txt", "harmless\n")
	b.link(b.outside("other"), "link")
	b.onAsk = func(tool.Request) { // give the swap time to happen between question and opening
		for range 5 {
			_, _ = os.Lstat(b.path("dir"))
		}
	}
	stop := swap(b)
	defer stop()
	end := time.Now().Add(duration(t))
	shown := 0
	for n := 0; time.Now().Before(end); n++ {
		for _, c := range []struct {
			tool string
			in   in
		}{
			{"read", in{"filePath": "dir/f.txt"}},
			{"grep", in{"pattern": "canary|harmless"}},
			{"grep", in{"pattern": "canary|harmless", "path": "dir/f.txt"}},
			{"edit", in{"filePath": "dir/f.txt", "oldString": "canary", "newString": "broken"}},
			{"write", in{"filePath": "dir/g.txt", "content": "planted"}},
			{"apply_patch", patchOf("*** Add File: dir/g.txt", "+planted", "*** Update File: dir/f.txt", "@@", "-canary", "+broken")},
			{"apply_patch", patchOf("*** Update File: dir/h.txt", "*** Move to: dir/i.txt")},
			{"apply_patch", patchOf("*** Update File: dir/i.txt", "*** Move to: dir/h.txt")},
		} {
			s := b.call(c.tool, c.in)
			if got := says(s); strings.Contains(got, "canary") && s.Error == nil {
				t.Fatalf("%s shows %s", c.tool, got)
			} else if strings.Contains(got, "harmless") {
				shown++
			}
		}
		b.asks()
	}
	swaps := stop()
	if got := b.content(b.outside("other/f.txt")); got != "canary\n" {
		t.Fatalf("changed: %q", got)
	}
	if left, err := os.ReadDir(b.outside("other")); err != nil || len(left) != 2 || left[0].Name() != "f.txt" || left[1].Name() != "h.txt" {
		t.Fatal("files were planted or moved", left, err)
	}
	if swaps < 1000 || shown == 0 {
		t.Fatalf("%d swaps, %d times shown: this proves nothing", swaps, shown)
	}
	t.Logf("%d swaps, %d times shown", swaps, shown)
}

func duration(t *testing.T) time.Duration {
	if s := os.Getenv("CAIRN_TEST_RACE"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return time.Second
}

// swap exchanges dir and link until the returned function is called, which says how often.
func swap(b *bench) func() int {
	stop, done := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			if unix.Renameat2(unix.AT_FDCWD, b.path("dir"), unix.AT_FDCWD, b.path("link"), unix.RENAME_EXCHANGE) == nil {
				n++
			}
		}
	}()
	return sync.OnceValue(func() int {
		close(stop)
		return <-done
	})
}
