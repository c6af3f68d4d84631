package httpio

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-dev/cairn/internal/pty"
)

const (
	maxOutputFrame = 64 << 10    // bytes of output in a frame
	maxInputFrame  = 1 << 20     // bytes of input in a frame
	closeTimeout   = time.Second // for the last words to a client
)

// ServeTerminal makes a WebSocket of the request: first what the terminal has said, then a binary frame with the cursor
// that is reached, then what it says as it comes; what the client sends is typed. After a gap in the output comes a frame
// with the cursor again. It lasts until the program ends (1000), ctx does (1001), or the client leaves.
//
// Whose page may connect was decided for every request (package server), so that the library does not ask again.
func ServeTerminal(ctx context.Context, w http.ResponseWriter, r *http.Request, t *pty.Attachment) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return NewInvalid("headers", "Upgrade", "connect to a terminal by WebSocket")
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // it has answered
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(maxInputFrame)
	showing, gone := context.WithCancelCause(ctx)
	alive, leave := context.WithCancel(context.WithoutCancel(ctx)) // the connection, which is still told why ctx ended
	defer context.AfterFunc(showing, func() { time.AfterFunc(closeTimeout, leave) })()
	var typing sync.WaitGroup
	typing.Go(func() { gone(copyInput(alive, c, t)) })
	err = copyOutput(showing, t, func(kind websocket.MessageType, p []byte) error { return c.Write(alive, kind, p) })
	switch {
	case errors.Is(err, io.EOF):
		err = closeConn(c, websocket.StatusNormalClosure, "")
	case ctx.Err() != nil && errors.Is(context.Cause(showing), context.Cause(ctx)):
		err = closeConn(c, websocket.StatusGoingAway, "cairn is shutting down")
	default:
		err = nil // the client left
	}
	leave()
	typing.Wait()
	return err
}

// closeConn tells the client why it ends. One that is gone is told nothing.
func closeConn(c *websocket.Conn, code websocket.StatusCode, why string) error {
	_ = c.Close(code, why)
	return nil
}

func copyInput(ctx context.Context, c *websocket.Conn, t *pty.Attachment) error {
	for {
		_, p, err := c.Read(ctx)
		if err != nil {
			return err
		}
		_ = t.WriteInput(ctx, p) // a program that is over reads nothing; that it is over will be shown
	}
}

// sendFrame sends a frame. One that began is sent whole, also when showing has to stop, unless the client does not read.
type sendFrame func(kind websocket.MessageType, p []byte) error

// copyOutput sends output until there is none any more.
func copyOutput(ctx context.Context, t *pty.Attachment, send sendFrame) error {
	for t.IsReplaying() {
		if err := sendNext(ctx, t, send); err != nil {
			return err
		}
	}
	if err := sendCursor(t, send); err != nil {
		return err
	}
	for {
		if err := sendNext(ctx, t, send); err != nil {
			return err
		}
	}
}

func sendNext(ctx context.Context, t *pty.Attachment, send sendFrame) error {
	text, skipped, err := t.Next(ctx, maxOutputFrame)
	switch {
	case err != nil:
		return err
	case skipped:
		return sendCursor(t, send)
	default:
		return send(websocket.MessageText, text)
	}
}

func sendCursor(t *pty.Attachment, send sendFrame) error {
	return send(websocket.MessageBinary, []byte("\x00{\"cursor\":"+strconv.FormatInt(t.Cursor(), 10)+"}"))
}
