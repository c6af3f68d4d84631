package sse_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/llm/sse"
)

type frame struct{ Event, ID, Data string }

func read(r io.Reader, limit int) ([]frame, error) { return collect(sse.ReadFrames(r, limit)) }

func collect(frames iter.Seq2[sse.Frame, error]) ([]frame, error) {
	var out []frame
	for f, err := range frames {
		if err != nil {
			return out, err
		}
		if f.Unended {
			f.Event += " unended"
		}
		out = append(out, frame{f.Event, f.ID, string(f.Data)})
	}
	return out, nil
}

// splitReader returns at most n bytes per read.
type splitReader struct {
	data []byte
	n    int
}

func (s *splitReader) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data[:min(s.n, len(s.data))])
	s.data = s.data[n:]
	return n, nil
}

func TestReadFrames(t *testing.T) {
	tests := []struct {
		name, in string
		want     []frame
	}{
		{"one", "data: a\n\n", []frame{{Data: "a"}}},
		{"no space after the colon", "data:a\n\n", []frame{{Data: "a"}}},
		{"only one space is taken", "data:  a\n\n", []frame{{Data: " a"}}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []frame{{Data: "a"}, {Data: "b"}}},
		{"cr", "data: a\r\rdata: b\r\r", []frame{{Data: "a"}, {Data: "b"}}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []frame{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
		{"bom", "\xef\xbb\xbfdata: a\n\n", []frame{{Data: "a"}}},
		{"bom counts only at the start", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []frame{{Data: "a"}}},
		{"comments", ": hello\n:\ndata: a\n: more\n\n", []frame{{Data: "a"}}},
		{"multi-line", "data: a\ndata\ndata: b\n\n", []frame{{Data: "a\n\nb"}}},
		{
			"multi-line with crlf and cr", "data: a\r\ndata: b\r\n\r\ndata: c\rdata: d\r\r",
			[]frame{{Data: "a\nb"}, {Data: "c\nd"}},
		},
		{"event resets, id persists", "event: x\nid: 7\ndata: a\n\ndata: b\n\n", []frame{{"x", "7", "a"}, {"", "7", "b"}}},
		{"id with NUL is ignored", "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", []frame{{"", "1", "a"}, {"", "1", "b"}}},
		{"retry is ignored", "retry: 10\ndata: a\n\nretry: 10\n\ndata: b\n\n", []frame{{Data: "a"}, {Data: "b"}}},
		{"an error in a field of its own", "error: {\"a\":1}\n\n", []frame{{Event: "error", Data: `{"a":1}`}}},
		{"unknown field", "foo: bar\ndata: a\n\n", []frame{{Data: "a"}}},
		{"event without data is not dispatched and does not leak", "event: x\n\ndata: a\n\n", []frame{{Data: "a"}}},
		{"empty data line is dispatched", "data\n\n", []frame{{Data: ""}}},
		{"unfinished frame is dropped", "data: a\n\ndata: b\n", []frame{{Data: "a"}}},
		{"unfinished line is dropped", "data: a\n\ndata: b", []frame{{Data: "a"}}},
		{"colon in value", "data: a:b: c\n\n", []frame{{Data: "a:b: c"}}},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.in)+1; n++ {
				got, err := read(&splitReader{[]byte(tt.in), n}, 0)
				if err != nil {
					t.Fatalf("split %d: %v", n, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("split %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// TestReadFramesToEnd: the frame that the end of a stream leaves is yielded on request, unless the reader fails.
func TestReadFramesToEnd(t *testing.T) {
	tests := []struct {
		in   string
		want []frame
	}{
		{"data: a\n\ndata: b\n", []frame{{Data: "a"}, {Event: " unended", Data: "b"}}},
		{"data: a\n\ndata: b", []frame{{Data: "a"}, {Event: " unended", Data: "b"}}},
		{"\xef\xbb\xbfdata: b", []frame{{Event: " unended", Data: "b"}}},
		{"error: b", []frame{{Event: "error unended", Data: "b"}}},
		{"event: x\nid: 7\ndata: a\r\ndata: b\r", []frame{{"x unended", "7", "a\nb"}}},
		{"event: x\ndata: a\nevent: xy", []frame{{Event: "x unended", Data: "a"}}},
		{"data: a\nid: 7", []frame{{Event: " unended", Data: "a"}}},
		{"data: a\n\nevent: x\n", []frame{{Data: "a"}}},
		{"data: a\n\n", []frame{{Data: "a"}}},
		{"data: a\n\ndat", []frame{{Data: "a"}}},
		{"", nil},
	}
	for _, tt := range tests {
		for n := 1; n <= len(tt.in)+1; n++ {
			got, err := collect(sse.ReadFramesToEnd(&splitReader{[]byte(tt.in), n}, 0))
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Fatalf("%q, split %d: %v (-want +got):\n%s", tt.in, n, err, diff)
			}
		}
	}
	broken := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := collect(sse.ReadFramesToEnd(broken, 0)); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	for range sse.ReadFramesToEnd(strings.NewReader("data: a"), 0) {
		break
	}
}

func TestLimit(t *testing.T) {
	tests := []struct {
		name, in string
		bad      bool
	}{
		{"fits", "data: 123\n\ndata: 456\n\n", false},
		{"endless line", "data: " + strings.Repeat("x", 100), true},
		{"endless comment", ":" + strings.Repeat("x", 100) + "\n", true},
		{"many lines", strings.Repeat("data: 1\n", 40), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 7, 1000} {
				_, err := read(&splitReader{[]byte(tt.in), n}, 32)
				limit, ok := errors.AsType[*sse.LimitError](err)
				if ok != tt.bad || (ok && limit.Limit != 32) {
					t.Errorf("split %d: error %v", n, err)
				}
			}
		})
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("reset")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 0)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := read(iotest.ErrReader(io.ErrUnexpectedEOF), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("unexpected EOF is lost: %v", err)
	}
	if _, err := read(stuckReader{}, 0); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never progresses: %v", err)
	}
	if got, err := read(iotest.DataErrReader(strings.NewReader("data: a\n\n")), 0); err != nil || len(got) != 1 {
		t.Errorf("data together with EOF: %v, %v", got, err)
	}
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func TestConsumerStops(t *testing.T) {
	for f := range sse.ReadFrames(strings.NewReader("data: a\n\ndata: b\n\n"), 0) {
		if string(f.Data) != "a" {
			t.Errorf("got %q", f.Data)
		}
		break
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfevent: x\r\nid: 1\rdata: a\ndata: b\r\n\r\n: c\n\n"), 3)
	f.Add([]byte("data: a\r"), 1)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		n = 1 + (n&0x7fffffff)%64
		want, wantErr := collect(sse.ReadFramesToEnd(bytes.NewReader(in), 256))
		got, gotErr := collect(sse.ReadFramesToEnd(&splitReader{in, n}, 256))
		if diff := cmp.Diff(want, got); diff != "" || (wantErr == nil) != (gotErr == nil) {
			t.Errorf("split %d: %v and %v\n%s", n, wantErr, gotErr, diff)
		}
	})
}

func BenchmarkReadFrames(b *testing.B) {
	one := []byte("event: message\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n")
	stream := bytes.Repeat(one, 1000)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range sse.ReadFrames(bytes.NewReader(stream), 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/frame")
}
