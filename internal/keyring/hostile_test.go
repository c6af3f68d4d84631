//go:build !windows && !darwin

package keyring

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hostile is a bus at the other end of a pipe, which counts what it was listened to.
type hostile struct {
	net.Conn
	in   *bufio.Reader
	said int
}

func (h *hostile) say(b []byte) bool {
	n, err := h.Write(b)
	h.said += n
	return err == nil
}

// greets lets the client in.
func (h *hostile) greets() {
	_, _ = h.in.ReadString('\n')
	h.say([]byte("OK 0123456789abcdef0123456789abcdef\r\n"))
	_, _ = h.in.ReadString('\n')
}

// hears reads one call.
func (h *hostile) hears() (serial uint32, ok bool) {
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(h.in, head); err != nil {
		return 0, false
	}
	rest, err := following(head)
	if err == nil {
		_, err = h.in.Discard(rest)
	}
	return binary.LittleEndian.Uint32(head[8:]), err == nil
}

// reply is an answer to a call, in either byte order.
func reply(mark byte, serial uint32, signature string, body []byte) []byte {
	var e encoder
	e.list(8, func() {
		e.align(8)
		e.raw = append(e.raw, fieldAnswers)
		e.signature("u")
		e.uint32(serial)
		e.field(fieldSignature, "g", signature)
	})
	fields := e.raw[4:] // of the length, which the head has
	length := binary.LittleEndian.Uint32(e.raw)
	o := binary.AppendByteOrder(binary.LittleEndian)
	if mark == 'B' {
		o = binary.BigEndian
	}
	head := o.AppendUint32([]byte{mark, methodReply, 0, 1}, uint32(len(body)))
	head = o.AppendUint32(o.AppendUint32(head, 1), length)
	if mark == 'B' {
		binary.BigEndian.PutUint32(fields[8:], serial) // behind the padding and the form
	}
	out := append(head, fields[4:]...)
	out = append(out, make([]byte, padded(len(out), 8)-len(out))...)
	return append(out, body...)
}

// head is the beginning of a message with these lengths.
func head(body, fields uint32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{'l', methodReply, 0, 1}, body)
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 1), fields)
}

func TestHostileBus(t *testing.T) {
	junk := bytes.Repeat([]byte("x"), 64<<10)
	for name, tt := range map[string]struct {
		does func(h *hostile)
		want string
		took time.Duration
	}{
		"says nothing": {func(*hostile) {}, "bus does not answer", patience},
		"greets without an end": {func(h *hostile) {
			_, _ = h.in.ReadString('\n')
			for h.say(junk) {
			}
		}, "no D-Bus", 0},
		"lets nobody in": {func(h *hostile) {
			_, _ = h.in.ReadString('\n')
			h.say([]byte("REJECTED ANONYMOUS\r\n"))
		}, "does not let us in", 0},
		"hangs up":                     {func(h *hostile) { _ = h.Close() }, "bus hung up", 0},
		"is silent after the greeting": {func(h *hostile) { h.greets(); h.hears() }, "bus does not answer", patience},
		"is no bus": {func(h *hostile) {
			h.greets()
			h.hears()
			for h.say([]byte("HTTP/1.1 200 OK\r\n\r\n")) {
			}
		}, "no D-Bus", 0},
		"has a header without an end": {func(h *hostile) {
			h.greets()
			h.hears()
			for h.say(head(0, 0xffff_fff0)); h.say(junk); {
			}
		}, "says more", 0},
		"has a header of the greatest length": {func(h *hostile) {
			h.greets()
			h.hears()
			for h.say(head(0, maxMessage)); h.say(make([]byte, 1<<10)); {
			}
		}, "no D-Bus", 0},
		"has a huge body": {func(h *hostile) {
			h.greets()
			h.hears()
			for h.say(head(127<<20, 0)); h.say(junk); {
			}
		}, "says more", 0},
		"has lengths that overflow": {func(h *hostile) {
			h.greets()
			h.hears()
			for h.say(head(0xffff_fff8, 16)); h.say(junk); {
			}
		}, "says more", 0},
		"drips": {func(h *hostile) {
			h.greets()
			h.hears()
			for b := range bytes.SplitSeq(append(head(1000, 1000), junk...), nil) {
				time.Sleep(10 * time.Millisecond)
				if !h.say(b) {
					return
				}
			}
		}, "bus does not answer", patience},
		"floods with short messages": {func(h *hostile) {
			h.greets()
			serial, _ := h.hears()
			for h.say(reply('l', serial+7, "s", nil)) {
			}
		}, "says more", 0},
		"floods with long messages": {func(h *hostile) {
			h.greets()
			serial, _ := h.hears()
			for h.say(reply('l', serial+7, "s", junk)) {
			}
		}, "says more", 0},
		"goes in the middle of a message": {func(h *hostile) {
			h.greets()
			h.hears()
			h.say(head(1000, 1000))
			_ = h.Close()
		}, "bus hung up", 0},
		"says it the other way round": {func(h *hostile) {
			h.greets()
			serial, _ := h.hears()
			wrong := reply('l', serial, "s", []byte{2, 0, 0, 0, ':', '1', 0})
			wrong[0] = 'B'
			h.say(wrong)
		}, "says more", 0},
		"answers in another form": {func(h *hostile) {
			h.greets()
			serial, _ := h.hears()
			h.say(reply('l', serial, "u", []byte{2, 0, 0, 0}))
		}, "no D-Bus", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				h := &hostile{Conn: theirs, in: bufio.NewReader(theirs)}
				done := make(chan struct{})
				go func() { defer close(done); tt.does(h) }()
				begun := time.Now()
				_, err := secretService{func(context.Context) (net.Conn, error) { return ours, nil }}.Get(t.Context(), "a")
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("it took %s, not %s", took, tt.took)
				}
				_ = theirs.Close()
				<-done
				if h.said > maxBytes+maxLine {
					t.Errorf("listened to %d bytes", h.said)
				}
			})
		})
	}
}

// A service may speak in either byte order, whatever ours is.
func TestOtherByteOrder(t *testing.T) {
	for _, mark := range []byte("lB") {
		ours, theirs := net.Pipe()
		h := &hostile{Conn: theirs, in: bufio.NewReader(theirs)}
		go func() {
			h.greets()
			for {
				serial, ok := h.hears()
				if !ok {
					return
				}
				body := []byte{0, 0, 0, 2, ':', '1', 0}
				if mark == 'l' {
					body = []byte{2, 0, 0, 0, ':', '1', 0}
				}
				h.say(reply(mark, serial, "s", body))
			}
		}()
		b, err := connect(t.Context(), func(context.Context) (net.Conn, error) { return ours, nil })
		if err != nil {
			t.Fatalf("%c: %v", mark, err)
		}
		b.close()
		_ = theirs.Close()
	}
}

// A call ends with its context, also where a person is waited for.
func TestCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() {
			h := &hostile{Conn: theirs, in: bufio.NewReader(theirs)}
			h.greets()
			h.hears()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		_, err := secretService{func(context.Context) (net.Conn, error) { return ours, nil }}.Get(ctx, "a")
		if !errors.Is(err, errSilent) || time.Since(begun) != time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

// What a service refuses with is shown on a terminal.
func TestRefusalIsClean(t *testing.T) {
	r := &refused{"org.x", "no\x1b[2J\r\nnever" + strings.Repeat("!", 1000)}
	if text := r.Error(); strings.ContainsAny(text, "\x1b\r\n") || len(text) > 300 {
		t.Errorf("%q", text)
	}
}

// FuzzMessage reads any bytes as a message, and its body in every form that is read.
func FuzzMessage(f *testing.F) {
	f.Add(reply('l', 1, "s", []byte{2, 0, 0, 0, ':', '1', 0}))
	f.Add(reply('B', 1, "aoao", make([]byte, 64)))
	f.Add(append(head(8, 0), make([]byte, 8)...))
	f.Add(call{"a", "/b", "c", "d", "s", []byte{1, 0, 0, 0, 'x', 0}}.encode(7))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < headBytes {
			return
		}
		rest, err := following(raw[:headBytes])
		if err != nil || len(raw) < headBytes+rest {
			return
		}
		m, err := decodeMessage(raw[:headBytes+rest])
		if err != nil {
			return
		}
		for _, read := range []func(d *decoder) int{
			func(d *decoder) int { d.variant(); return len(d.path()) },
			func(d *decoder) int { return 8 * (len(d.paths()) + len(d.paths())) },
			func(d *decoder) int { d.path(); d.bytes(); n := len(d.bytes()); d.text(); return n },
			func(d *decoder) int { return len(d.text()) },
			func(d *decoder) int { d.bool(); return 0 },
		} {
			d := *m.body
			if n := read(&d); n > 8*len(raw) || d.at > len(d.data) {
				t.Errorf("%d of %d", n, len(raw))
			}
		}
	})
}

// FuzzBus lets the other side say anything after the greeting.
func FuzzBus(f *testing.F) {
	f.Add(reply('l', 1, "s", []byte{2, 0, 0, 0, ':', '1', 0}))
	f.Add(append(reply('l', 1, "s", []byte{2, 0, 0, 0, ':', '1', 0}), reply('l', 2, "vo", []byte{1, 's', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, '/', 'a', 0})...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		go func() {
			_, _ = theirs.Write(append([]byte("OK x\r\n"), raw...))
			_ = theirs.Close()
		}()
		s := secretService{func(context.Context) (net.Conn, error) { return ours, nil }}
		if secret, err := s.Get(t.Context(), "a"); err == nil && len(secret) > len(raw) {
			t.Errorf("%d bytes of %d", len(secret), len(raw))
		}
	})
}
