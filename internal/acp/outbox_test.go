package acp

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutboxKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		o := newOutbox(&out)
		var want []byte
		for i := range 500 {
			raw := []byte{byte(i), '\n'}
			want = append(want, raw...)
			o.put(raw, i%2 == 0)
		}
		o.close()
		o.put([]byte("late"), false)
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%d bytes, want %d", out.Len(), len(want))
		}
	})
}

// A client that does not read holds senders up, but not those of urgent messages, and only for a time.
func TestOutboxOfAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		o := newOutbox(out)
		half := make([]byte, maxUnread/2)
		o.put(half, false)
		o.put(half, false)
		var waiting sync.WaitGroup
		waiting.Go(func() { o.put([]byte("x"), false) })
		synctest.Wait()
		o.put([]byte("urgent"), true)
		begun := time.Now()
		waiting.Wait()
		if d := time.Since(begun); d != stallTimeout {
			t.Errorf("the sender has waited for %v", d)
		}
		if err := o.failure(); !errors.Is(err, errStalled) {
			t.Errorf("failure: %v", err)
		}
		o.put(half, false) // nothing waits any more
		o.close()
		_ = in.Close()
		synctest.Wait()
	})
}

// A client that reads slowly gets everything.
func TestOutboxOfASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		o := newOutbox(out)
		const pieces = 10
		go func() {
			for range pieces {
				o.put(make([]byte, maxUnread/2), false)
			}
			o.close()
			_ = out.Close()
		}()
		read, buf := 0, make([]byte, maxUnread/2)
		for {
			time.Sleep(stallTimeout / 2)
			n, err := io.ReadFull(in, buf)
			if read += n; err != nil {
				break
			}
		}
		if read != pieces*maxUnread/2 || o.failure() != nil {
			t.Errorf("read %d bytes; failure: %v", read, o.failure())
		}
	})
}

// Urgent messages are bounded, too.
func TestOutboxOfUrgentMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		o := newOutbox(out)
		for range 5 {
			o.put(make([]byte, maxUnread/2), true)
		}
		if !errors.Is(o.failure(), errStalled) {
			t.Errorf("failure: %v", o.failure())
		}
		_ = in.Close()
		synctest.Wait()
	})
}

// A client that has gone is no failure, and what it leaves does not hold up the end.
func TestOutboxOfAClientThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		o := newOutbox(out)
		_ = in.Close()
		o.put([]byte("x"), false)
		o.close()
		if o.failure() != nil {
			t.Errorf("failure: %v", o.failure())
		}
		in, out = io.Pipe()
		o = newOutbox(out)
		o.put([]byte("x"), false)
		stop := o.limitFlush()
		begun := time.Now()
		o.close()
		stop()
		if d := time.Since(begun); d != flushTimeout || o.failure() != nil {
			t.Errorf("closed after %v: %v", d, o.failure())
		}
		_ = in.Close()
		synctest.Wait()
	})
}
