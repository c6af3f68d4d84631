//go:build !windows && !darwin

package keyring

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What one connection may cost, whoever is at the other end of the socket. A visit is some ten messages.
const (
	maxSecret   = 128 << 10 // what is put there must come back
	maxLine     = 1 << 10   // of the greeting
	maxMessage  = 256 << 10 // bytes
	maxMessages = 64
	maxBytes    = 1 << 20 // of all that is read
)

// patience is how long everything may take in which no person is asked.
const patience = 2 * time.Second

// The D-Bus messages that matter to a caller of methods.
const (
	methodCall   = 1
	methodReply  = 2
	methodError  = 3
	methodSignal = 4
)

// bus is one connection to a message bus, as far as somebody needs it who calls one method after the other. Nothing is read
// while nobody waits for it, and nothing is kept that is no answer.
type bus struct {
	socket net.Conn
	in     *bufio.Reader
	left   *io.LimitedReader // below in
	read   int               // messages
	serial uint32
	owner  string     // who answered last
	heard  []*message // of prompts
	stop   func() bool
}

// dialer returns what connects to a socket.
func dialer(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", path)
	}
}

// connect greets the bus at the other end. The connection ends with ctx.
func connect(ctx context.Context, dial func(context.Context) (net.Conn, error)) (*bus, error) {
	socket, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("the session's bus does not answer: %w", cause(err))
	}
	b := &bus{socket: socket, left: &io.LimitedReader{R: socket, N: maxBytes}}
	b.in = bufio.NewReaderSize(b.left, maxLine)
	b.stop = context.AfterFunc(ctx, func() { _ = socket.Close() }) // whoever reads is told
	if err = b.hurry(); err == nil {
		err = b.greet(ctx)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the session's bus %w", err)
	}
	return b, nil
}

// cause is what the system says, without the address.
func cause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

func (b *bus) close() {
	b.stop()
	_ = b.socket.Close()
}

// wait gives the other side time until ctx ends, since a person is asked.
func (b *bus) wait(ctx context.Context) error {
	until, _ := ctx.Deadline()
	return b.socket.SetDeadline(until)
}

// hurry gives it patience from now on.
func (b *bus) hurry() error { return b.socket.SetDeadline(time.Now().Add(patience)) }

// greet logs in as the user that we are, which the kernel confirms, and says hello.
func (b *bus) greet(ctx context.Context) error {
	who := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := io.WriteString(b.socket, "\x00AUTH EXTERNAL "+who+"\r\n"); err != nil {
		return b.failed(ctx, err)
	}
	line, err := b.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return errGarbled
	case err != nil:
		return b.failed(ctx, err)
	case !strings.HasPrefix(string(line), "OK "):
		return errors.New("does not let us in")
	}
	if _, err := io.WriteString(b.socket, "BEGIN\r\n"); err != nil {
		return b.failed(ctx, err)
	}
	_, err = b.call(ctx, call{"org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", "", nil}, "s")
	return err
}

var (
	errSilent  = errors.New("does not answer")
	errGone    = errors.New("hung up")
	errTooMuch = errors.New("says more than anybody wants to hear")
	errGarbled = errors.New("says what is no D-Bus")
)

// failed says in our words why reading or writing failed.
func (b *bus) failed(ctx context.Context, err error) error {
	switch {
	case b.left.N <= 0:
		return errTooMuch
	case errors.Is(err, os.ErrDeadlineExceeded), ctx.Err() != nil:
		return errSilent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNRESET):
		return errGone
	default:
		return fmt.Errorf("cannot be talked to: %w", cause(err))
	}
}

// call is a method that is called: of whom, and with what.
type call struct {
	to, path, api, method string
	signature             string
	body                  []byte
}

// refused is what a service answers instead of a result.
type refused struct{ name, text string }

func (r *refused) Error() string {
	text := r.text
	if text == "" {
		text = r.name
	}
	return fmt.Sprintf("refuses: %.200s", strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text))
}

// call calls a method and returns what it answers, which has the form of want.
func (b *bus) call(ctx context.Context, c call, want string) (*decoder, error) {
	b.serial++
	if _, err := b.socket.Write(c.encode(b.serial)); err != nil {
		return nil, b.failed(ctx, err)
	}
	for {
		m, err := b.next(ctx)
		switch {
		case err != nil:
			return nil, err
		case m.answers != b.serial:
			b.note(m)
		case m.kind == methodError:
			why := &refused{name: m.problem}
			if strings.HasPrefix(m.signature, "s") {
				why.text = m.body.text()
			}
			return nil, why
		case m.kind != methodReply || m.signature != want:
			return nil, errGarbled
		default:
			b.owner = m.sender
			return m.body, nil
		}
	}
}

// note keeps what is said of prompts: that may come before the answer to the call.
func (b *bus) note(m *message) {
	if m.kind == methodSignal && m.api == apiPrompt && len(b.heard) < maxMessages {
		b.heard = append(b.heard, m)
	}
}

// signal waits for a word of a prompt's.
func (b *bus) signal(ctx context.Context, path, name string) (*message, error) {
	for {
		for _, m := range b.heard {
			if m.path == path && m.member == name && m.sender == b.owner {
				return m, nil
			}
		}
		b.heard = b.heard[:0]
		m, err := b.next(ctx)
		if err != nil {
			return nil, err
		}
		b.note(m)
	}
}

// next reads one message, and no byte of one that is too long.
func (b *bus) next(ctx context.Context) (*message, error) {
	if b.read++; b.read > maxMessages {
		return nil, errTooMuch
	}
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(b.in, head); err != nil {
		return nil, b.failed(ctx, err)
	}
	rest, err := following(head)
	if err != nil {
		return nil, err
	}
	raw := append(head, make([]byte, rest)...)
	if _, err := io.ReadFull(b.in, raw[headBytes:]); err != nil {
		return nil, b.failed(ctx, err)
	}
	return decodeMessage(raw)
}

// order returns the byte order that a message names.
func order(mark byte) (binary.ByteOrder, bool) {
	switch mark {
	case 'l':
		return binary.LittleEndian, true
	case 'B':
		return binary.BigEndian, true
	default:
		return nil, false
	}
}
