package host

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/client"
)

// The wait for a background server ends with its first line, with its end, and with the context: its start may take
// long.
func TestReadListening(t *testing.T) {
	ended := errors.New("the editor has gone")
	for name, test := range map[string]struct {
		act  func(out io.WriteCloser, cancel func(error))
		want string
		err  error
	}{
		"a line":     {act: func(out io.WriteCloser, _ func(error)) { _, _ = io.WriteString(out, `{"socket":"/s"}`+"\n") }, want: "/s"},
		"an end":     {act: func(out io.WriteCloser, _ func(error)) { _ = out.Close() }, err: io.EOF},
		"no context": {act: func(_ io.WriteCloser, cancel func(error)) { cancel(ended) }, err: io.ErrClosedPipe},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			in, out := io.Pipe()
			go test.act(out, cancel)
			var l client.Listening
			if err := readListening(ctx, in, &l); !errors.Is(err, test.err) || l.Socket != test.want {
				t.Errorf("%s: %v, %+v", name, err, l)
			}
			if _, err := out.Write([]byte("x")); err == nil {
				t.Errorf("%s: the pipe is open", name)
			}
		})
	}
}
