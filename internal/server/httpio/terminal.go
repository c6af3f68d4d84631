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

	"github.com/cairn-dev/cairn/internal/location/pty"
)

const (
	maxOutputFrame = 64 << 10    // bytes of output in a frame
	maxInputFrame  = 1 << 20     // bytes of input in a frame
	closeTimeout   = time.Second // for the close handshake
)

// TerminalProtocol is the WebSocket protocol of terminals. Clients need not name one.
const TerminalProtocol = "cairn.terminal"

// ServeTerminal upgrades the request to a WebSocket. It sends the output so far, then a binary frame with the
// cursor, then new output as it comes; the client sends input. After a gap in the output it sends the cursor again.
// It lasts until the program exits (1000), ctx ends (1001), or the client leaves.
//
// Package server has checked the origin of the page, so the library does not check it again.
func ServeTerminal(ctx context.Context, w http.ResponseWriter, r *http.Request, t *pty.Attachment) error {
	// Refuse other requests in the envelope of this contract.
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return NewInvalid("headers", "Upgrade", "connect to a terminal by WebSocket")
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, Subprotocols: []string{TerminalProtocol},
	})
	if err != nil {
		return nil // Accept has answered
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(maxInputFrame)
	// showing ends the output; alive keeps the connection until the reason is sent.
	showing, gone := context.WithCancelCause(ctx)
	alive, leave := context.WithCancel(context.WithoutCancel(ctx)) // the connection outlives ctx to send the reason
	defer context.AfterFunc(showing, func() { time.AfterFunc(closeTimeout, leave) })()
	// Copy input in the background and output here, until one of them ends.
	var typing sync.WaitGroup
	typing.Go(func() { gone(copyInput(alive, c, t)) })
	err = copyOutput(showing, t, func(kind websocket.MessageType, p []byte) error { return c.Write(alive, kind, p) })
	// Send the reason for the end.
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

// closeConn sends the client the reason of the end. A client that has disconnected is no error.
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
		_ = t.WriteInput(ctx, p) // an exited program reads nothing; copyOutput reports the exit
	}
}

// sendFrame sends a frame. A frame that was started is sent whole, even if the output stops, unless the client does
// not read.
type sendFrame func(kind websocket.MessageType, p []byte) error

// copyOutput sends output until the program exits.
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
