package lsp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// frame returns a message with its header.
func frame(body string) string { return "Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body }

func itoa(n int) string { return string(encode(n)) }

// readAll reads a stream until it ends and returns the messages and why it ended.
func readAll(text string) (messages []string, cause error) {
	s := newStream(&endpoint{in: discardWriter{}, out: io.NopCloser(strings.NewReader(text))}, func(method string, _ jsontext.Value) {
		messages = append(messages, method)
	})
	defer func() { _ = s.Close(); s.writer.Wait() }()
	for {
		var v jsontext.Value
		if err := s.ReadObject(&v); err != nil {
			return messages, s.readCause()
		}
		messages = append(messages, string(v))
	}
}

type discardWriter struct{}

func (discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (discardWriter) Close() error                { return nil }

func TestStream(t *testing.T) {
	t.Parallel()
	const reply, note = `{"id":1,"result":null}`, `{"method":"n"}`
	for _, test := range []struct{ name, in, want, cause string }{
		{"messages", frame(reply) + frame(note) + frame(reply), reply + " n " + reply, ""},
		{"other headers", "content-type: x; charset=utf-8\r\ncontent-length:22\n\n" + reply, reply, ""},
		{"spaces after the value", frame(reply+" \n") + frame(note), reply + " n", ""},
		{"the end in a message", frame(reply)[:30], "", ""},
		{"text", "Listening on port 1\n", "", "it wrote \"Listening on port 1\" instead of a message"},
		{"a long line", strings.Repeat("x", 1<<20), "", "it wrote \"" + strings.Repeat("x", 80) + "\" instead of a message"},
		{"headers without an end", strings.Repeat("A: b\r\n", 100), "", "it wrote \"A: b\" instead of a message"},
		{"a large message", "Content-Length: 99999999\r\n\r\n", "", "it sent a message of \"99999999\" bytes; the limit is 16777216"},
		{"no number", "Content-Length: x\r\n\r\n", "", "it sent a message of \"x\" bytes; the limit is 16777216"},
		{"a negative number", "Content-Length: -1\r\n\r\n", "", "it sent a message of \"-1\" bytes; the limit is 16777216"},
		{"many values", frame("[" + strings.Repeat("0,", 3<<20) + "0]"), "", "it sent a message of 3145729 values; the limit is 2097152"},
		{"nested", frame(strings.Repeat("[", 1<<20)), "", "it sent a message that is not JSON-RPC"},
		{"no JSON", frame("nonsense"), "", "it sent a message that is not JSON-RPC"},
		{"another form", frame(`[1]`), "", "it sent a message that is not JSON-RPC"},
	} {
		got, cause := readAll(test.in)
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: got %q", test.name, text)
		}
		if cause == nil && test.cause != "" || cause != nil && (test.cause == "" || !strings.HasPrefix(cause.Error(), test.cause)) {
			t.Errorf("%s: cause %v", test.name, cause)
		}
	}
}

// A server that takes no input has ended: that is no reason of its own.
func TestStreamWriteFails(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	_ = out.CloseWithError(errors.New("broken pipe"))
	s := newStream(&endpoint{in: in, out: out}, nil)
	_ = s.WriteObject("x")
	<-s.closed
	s.writer.Wait()
	if cause := s.readCause(); cause != nil {
		t.Errorf("cause: %v", cause)
	}
}

// What waits for a server that does not read is bounded in bytes.
func TestStreamQueueIsBounded(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	s := newStream(&endpoint{in: in, out: out}, nil)
	defer s.writer.Wait()
	large := strings.Repeat("x", 16<<20)
	var err error
	n := 0
	for ; err == nil && n < 20; n++ {
		err = s.WriteObject(large)
	}
	if n > maxQueued/len(large)+2 || err == nil || err.Error() != "it does not read what it is sent" {
		t.Errorf("message %d: %v", n, err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(frame(`{"id":1,"result":null}`) + frame(`{"method":"n"}`))
	f.Add("Content-Length: 5\r\n\r\nhello")
	f.Fuzz(func(t *testing.T, text string) {
		messages, _ := readAll(text)
		// The test's own reader takes what the stream accepts.
		in := bufio.NewReader(strings.NewReader(text))
		if len(messages) > 0 && strings.Count(strings.ToLower(text), "content-length") < len(messages) {
			t.Errorf("%d messages in %q", len(messages), text)
		}
		_, _ = readFake(in)
	})
}
