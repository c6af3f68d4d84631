package acp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the lines of a text; a line that is too long is "<long>".
func readAll(in io.Reader, limit int) (lines []string, err error) {
	r := newLineReader(in, limit)
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, errLongLine):
			lines = append(lines, "<long>")
		case err != nil:
			return lines, err
		default:
			lines = append(lines, string(line))
		}
	}
}

func TestLineReader(t *testing.T) {
	large := strings.Repeat("x", 10_000) // more than the reader's buffer
	for _, tt := range []struct {
		name, in, want string
		limit          int
	}{
		{"nothing", "", "", 9},
		{"lines", "a\nbc\n", "a|bc", 9},
		{"a last line without an end", "a\nbc", "a|bc", 9},
		{"empty lines", "\n\r\n\na\n", "|||a", 9},
		{"of Windows", "a\r\nb\r\n", "a|b", 9},
		{"as long as allowed", "123456789\r\n12\n", "123456789|12", 9},
		{"too long", "1234567890\nab\n", "<long>|ab", 9},
		{"too long at the end", "a\n1234567890", "a|<long>", 9},
		{"of many pieces", large + "\n" + large + "\n", large + "|" + large, 10_000},
		{"too long in many pieces", large + "\nab\n", "<long>|ab", 9_999},
	} {
		for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
			got, err := readAll(in, tt.limit)
			if joined := strings.Join(got, "|"); joined != tt.want || !errors.Is(err, io.EOF) {
				t.Errorf("%s: got %.80q, %v; want %.80q", tt.name, joined, err, tt.want)
			}
		}
	}
	broken := iotest.ErrReader(io.ErrClosedPipe)
	if got, err := readAll(io.MultiReader(strings.NewReader("a\nb"), broken), 9); !errors.Is(err, io.ErrClosedPipe) || len(got) != 1 {
		t.Errorf("a pipe that breaks: %q, %v", got, err)
	}
}

// The lines are those between the ends, whatever the bytes are; none is longer than allowed.
func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nccccccccccc\nd"), 10)
	f.Add([]byte{0xff, '\n', 0, '\r'}, 1)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = min(max(limit, 0), 1<<16)
		var want []string
		pieces := bytes.Split(in, []byte("\n"))
		for i, p := range pieces {
			if i == len(pieces)-1 && len(p) == 0 {
				break
			}
			if p = bytes.TrimRight(p, "\r\n"); len(p) > limit {
				want = append(want, "<long>")
			} else {
				want = append(want, string(p))
			}
		}
		got, err := readAll(bytes.NewReader(in), limit)
		if !errors.Is(err, io.EOF) || strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	})
}
