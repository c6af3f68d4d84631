package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// messageBody is the body of an answer of a remote server: one message, or a stream of events with messages, which are
// repaired. What is too large becomes an error for the call that the request makes.
type messageBody struct {
	io.Closer
	next  func() ([]byte, error) // returns the next part
	ready []byte
	err   error // comes after ready
}

// Read implements io.Reader.
func (b *messageBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.ready, b.err = b.next()
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// repairBody replaces the body of an answer. That of a failure, or of another type, is bounded only.
func repairBody(r *http.Request, resp *http.Response) {
	kind, _, _ := strings.Cut(strings.ToLower(resp.Header.Get("Content-Type")), ";")
	isGood := resp.StatusCode >= 200 && resp.StatusCode < 300
	body := &messageBody{Closer: resp.Body}
	switch kind = strings.TrimSpace(kind); {
	case isGood && kind == "text/event-stream":
		events := &eventReader{from: bufio.NewReaderSize(resp.Body, 64<<10), request: r}
		body.next = events.next
	case isGood && kind == "application/json" && r.Method == http.MethodPost:
		body.next = func() ([]byte, error) { return readAnswer(r, resp.ContentLength, body.Closer.(io.Reader)) }
	default:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxMessage), resp.Body}
		return
	}
	resp.Body, resp.ContentLength = body, -1
	resp.Header.Del("Content-Length")
}

// readAnswer returns the one message of a body, and io.EOF.
func readAnswer(r *http.Request, size int64, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxMessage+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxMessage {
		if answer := answerRequest(r, &tooLargeError{limit: maxMessage, size: size}); answer != nil {
			return answer, io.EOF
		}
		return nil, &tooLargeError{limit: maxMessage, size: size}
	}
	if message := repairMessage(text); message != nil {
		return message, io.EOF
	}
	if answer := answerRequest(r, errors.New("the answer is not a message of the protocol")); answer != nil {
		return answer, io.EOF
	}
	return text, io.EOF
}

// answerRequest returns an answer that fails the call of a request; nil for a request without a call.
func answerRequest(r *http.Request, why error) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }()
	var call struct {
		ID jsontext.Value `json:"id"`
	}
	if json.UnmarshalRead(body, &call, asSent()) != nil || len(call.ID) == 0 {
		return nil
	}
	return answerError(call.ID, why.Error())
}

// maxComments bounds what a stream has between two events, in bytes: a server that sends comments without end is not
// alive because of them, and reading them takes time.
const maxComments = 4 << 20

// eventReader reads the events of a stream, without comments and invalid lines.
type eventReader struct {
	from    *bufio.Reader
	request *http.Request
	idle    int // bytes since the last event
}

// next returns the next event. One that is too large, or comments without end, end the stream.
func (e *eventReader) next() ([]byte, error) {
	for {
		event, err := e.readEvent()
		if _, isTooLarge := errors.AsType[*tooLargeError](err); isTooLarge || errors.Is(err, errOnlyComments) {
			if answer := answerRequest(e.request, err); answer != nil {
				return formatEvent(nil, answer), io.EOF
			}
			return nil, err
		}
		if len(event) > 0 || err != nil {
			return event, err
		}
	}
}

var errOnlyComments = fmt.Errorf("the server sent %d MiB of comments instead of an answer", maxComments>>20)

// readEvent returns an event as the SDK can read it. It is empty if the event is left out.
func (e *eventReader) readEvent() (event []byte, err error) {
	var head, data []byte
	name, hasData := "message", false
	for size := 0; ; {
		line, err := e.readLine(maxMessage - size)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if e.idle += len(line); e.idle > maxComments && !hasData {
			return nil, errOnlyComments
		}
		line = bytes.TrimRight(line, "\r\n")
		// Collect the fields; another line is a comment or invalid.
		field, value, isField := bytes.Cut(line, []byte(":"))
		switch {
		case isField && string(field) == "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
			size += len(line)
		case isField && len(field) > 0:
			head = append(append(head, line...), '\n')
			size += len(line)
			if string(field) == "event" {
				name = string(bytes.TrimSpace(value))
			}
		}
		// The event ends with an empty line, or with the stream.
		isEmpty := len(head) == 0 && !hasData
		if err == nil && (len(line) > 0 || isEmpty) {
			continue
		}
		if isEmpty {
			return nil, err
		}
		if len(data) > 0 {
			e.idle = 0
			if name == "message" {
				if data = repairMessage(data); data == nil {
					return nil, err
				}
			}
		}
		return formatEvent(head, data), err
	}
}

// readLine returns the next line with its end. It has at most limit bytes.
func (e *eventReader) readLine(limit int) (line []byte, err error) {
	for {
		part, err := e.from.ReadSlice('\n')
		if line = append(line, part...); len(line) > limit {
			return nil, &tooLargeError{limit: maxMessage}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// formatEvent returns an event with other fields, each a line, and data.
func formatEvent(head, data []byte) []byte {
	out := bytes.Clone(head)
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		out = append(append(append(out, "data: "...), line...), '\n')
	}
	return append(out, '\n')
}
