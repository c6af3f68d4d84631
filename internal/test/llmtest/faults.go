package llmtest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// CheckSplit checks that the events of a body do not depend on how it is split between reads, and that they follow
// llm's contract.
func CheckSplit(t *testing.T, decode Decode, body string, step int) {
	t.Helper()
	step = 1 + (step&0x7fffffff)%512
	whole := Print(decode(strings.NewReader(body)))
	if diff := cmp.Diff(whole, Print(decode(&SlowReader{Text: body, Step: step}))); diff != "" {
		t.Errorf("split at every %d bytes:\n%s", step, diff)
	}
	CheckStream(t, decode, body)
}

// CheckBrokenConnection checks that a connection that breaks during an answer is an error, and one that breaks after
// its end is not.
func CheckBrokenConnection(t *testing.T, decode Decode, half, whole string) {
	t.Helper()
	broken := func(text string) io.Reader {
		return io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("reset")))
	}
	if got := Print(
		decode(broken(half)),
	); !strings.HasSuffix(got, "error the connection was lost during the answer: reset (transport)\n") {
		t.Errorf("in the middle: %s", got)
	}
	if got := Print(
		decode(broken(whole)),
	); !strings.HasSuffix(got, "finish stop in=0 out=0 reasoning=0 read=0 write=0 total=0\n") {
		t.Errorf("after the end: %s", got)
	}
}

// CheckUnended checks that an event stream whose last frame lacks its blank line is decoded completely, that a cut
// frame is incomplete, and that a broken connection is an error.
func CheckUnended(t *testing.T, decode Decode, body string) {
	t.Helper()
	whole, bare := Print(decode(strings.NewReader(body))), strings.TrimRight(body, "\r\n")
	if strings.Contains(whole, "\nerror ") {
		t.Fatalf("it is no good answer: %s", whole)
	}
	for _, text := range []string{bare, bare + "\n", bare + "\r\n", bare + "\n: the end"} {
		if diff := cmp.Diff(whole, Print(decode(strings.NewReader(text)))); diff != "" {
			t.Errorf("ended by %q:\n%s", strings.TrimPrefix(text, bare), diff)
		}
	}
	if got := Print(decode(strings.NewReader(bare[:len(bare)-1]))); !strings.HasSuffix(got, "(incomplete)\n") {
		t.Errorf("cut: %s", got)
	}
	broken := io.MultiReader(strings.NewReader(bare), iotest.ErrReader(errors.New("reset")))
	if got := Print(decode(broken)); !strings.HasSuffix(got, "reset (transport)\n") {
		t.Errorf("broken: %s", got)
	}
}

// CheckStop checks that no event follows when the consumer stops, after each event of the stream.
func CheckStop(t *testing.T, decode Decode, body string) {
	t.Helper()
	total := strings.Count(Print(decode(strings.NewReader(body))), "\n")
	for stop := 1; stop <= total; stop++ {
		n := 0
		for range decode(strings.NewReader(body)) {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("stopped after %d instead of %d", n, stop)
		}
	}
}
