package api

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// dripReader has a byte more each millisecond, and a read returns what there is.
type dripReader struct {
	began time.Time
	read  int
}

func (r *dripReader) Read(p []byte) (int, error) {
	if r.read == 100 {
		return 0, io.EOF
	}
	time.Sleep(time.Until(r.began.Add(time.Duration(r.read+1) * time.Millisecond)))
	n := min(int(time.Since(r.began)/time.Millisecond)-r.read, 100-r.read, len(p))
	r.read += n
	return n, nil
}

// TestStreamPace: a stream with a pace is read that often at most; the first read is made at once, and reads that may
// have left something are followed by the next one at once.
func TestStreamPace(t *testing.T) {
	for _, tt := range []struct {
		pace  time.Duration
		buf   int
		reads int
	}{{0, 4096, 100}, {10 * time.Millisecond, 4096, 11}} {
		synctest.Test(t, func(t *testing.T) {
			quiet := time.NewTimer(time.Hour)
			defer quiet.Stop()
			b := &streamBody{r: &dripReader{began: time.Now()}, quiet: quiet, pace: tt.pace}
			reads := 0
			for ; ; reads++ {
				if _, err := b.Read(make([]byte, tt.buf)); err != nil {
					break
				}
			}
			if reads != tt.reads {
				t.Errorf("pace %s: %d reads, want %d", tt.pace, reads, tt.reads)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		quiet := time.NewTimer(time.Hour)
		defer quiet.Stop()
		began := time.Now()
		b := &streamBody{r: io.LimitReader(zeroes{}, 10*largeRead), quiet: quiet, pace: time.Second}
		out, in := struct{ io.Writer }{io.Discard}, struct{ io.Reader }{b}
		n, err := io.CopyBuffer(out, in, make([]byte, largeRead))
		if err != nil || n != 10*largeRead || time.Since(began) != 0 {
			t.Errorf("%d bytes after %s, %v", n, time.Since(began), err)
		}
	})
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }
