//go:build !windows && !darwin

package keyring

import (
	"encoding/binary"
	"strings"
)

// headBytes is the part of a message that has always the same length: who it is for is not in it, how long the rest is, is.
const headBytes = 16

// message is what matters of one that was received.
type message struct {
	kind              byte
	answers           uint32 // the serial of a call
	path, api, member string
	problem, sender   string
	signature         string
	body              *decoder
}

// following says how many bytes come behind the head of a message.
func following(head []byte) (int, error) {
	o, ok := order(head[0])
	if !ok || head[3] != 1 { // the version of the protocol
		return 0, errGarbled
	}
	body, fields := o.Uint32(head[4:]), o.Uint32(head[12:])
	if body > maxMessage || fields > maxMessage || body+fields > maxMessage {
		return 0, errTooMuch
	}
	return padded(int(fields), 8) + int(body), nil
}

// padded is a length with what follows until the next multiple of n.
func padded(length, n int) int { return (length + n - 1) / n * n }

// The fields that a message may have, by their numbers.
const (
	fieldPath        = 1
	fieldAPI         = 2
	fieldMember      = 3
	fieldProblem     = 4
	fieldAnswers     = 5
	fieldDestination = 6
	fieldSender      = 7
	fieldSignature   = 8
)

// decodeMessage reads a whole message, as following has measured it.
func decodeMessage(raw []byte) (*message, error) {
	o, _ := order(raw[0])
	fields := int(o.Uint32(raw[12:]))
	m := &message{kind: raw[1]}
	d := &decoder{data: raw[:headBytes+fields], at: headBytes, order: o}
	for d.at < len(d.data) && !d.bad {
		d.align(8)
		m.field(d)
	}
	if d.bad {
		return nil, errGarbled
	}
	m.body = &decoder{data: raw[headBytes+padded(fields, 8):], order: o}
	return m, nil
}

// field reads one field. One that we do not know has no effect, as long as it is a plain one.
func (m *message) field(d *decoder) {
	number := d.byte()
	var text string
	var count uint32
	switch d.signature() {
	case "s", "o":
		text = d.text()
	case "g":
		text = d.signature()
	case "u":
		count = d.uint32()
	default:
		d.bad = true
	}
	switch number {
	case fieldPath:
		m.path = text
	case fieldAPI:
		m.api = text
	case fieldMember:
		m.member = text
	case fieldProblem:
		m.problem = text
	case fieldAnswers:
		m.answers = count
	case fieldSender:
		m.sender = text
	case fieldSignature:
		m.signature = text
	}
}

// decoder reads values one after the other. After the first that is not there all are empty, and bad says so.
type decoder struct {
	data  []byte
	at    int
	order binary.ByteOrder
	bad   bool
}

// take returns the next n bytes; nil if there are fewer.
func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.data)-d.at {
		d.bad = true
		return nil
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

func (d *decoder) align(n int) { d.take(padded(d.at, n) - d.at) }

func (d *decoder) byte() byte {
	b := d.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (d *decoder) uint32() uint32 {
	d.align(4)
	b := d.take(4)
	if b == nil {
		return 0
	}
	return d.order.Uint32(b)
}

func (d *decoder) bool() bool { return d.uint32() == 1 }

// length is how many bytes of a list or a text follow.
func (d *decoder) length() int {
	n := d.uint32()
	if n > maxMessage {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte { return d.take(d.length()) }

// text reads a string or a path.
func (d *decoder) text() string { return d.ended(d.length()) }

func (d *decoder) signature() string { return d.ended(int(d.byte())) }

// ended reads n bytes and the zero behind them.
func (d *decoder) ended(n int) string {
	text := d.take(n)
	if d.byte() != 0 {
		d.bad = true
	}
	return string(text)
}

// path reads the path of an object, which goes back to the bus: it cuts off whoever sends it a wrong one.
func (d *decoder) path() string {
	p := d.text()
	if !strings.HasPrefix(p, "/") || strings.ContainsFunc(p, func(c rune) bool {
		return c != '/' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) {
		d.bad = true
		return ""
	}
	return p
}

// paths reads a list of paths.
func (d *decoder) paths() []string {
	end := d.length() + d.at
	var list []string
	for d.at < end && !d.bad {
		list = append(list, d.path())
	}
	return list
}

// variant reads past a value that brings its form, as long as that is a text or bytes.
func (d *decoder) variant() {
	switch d.signature() {
	case "s", "o":
		d.text()
	case "ay":
		d.bytes()
	default:
		d.bad = true
	}
}

// whole is what a reader of values ends with: nil if all were there.
func (d *decoder) whole() error {
	if d.bad {
		return errGarbled
	}
	return nil
}

// encode makes the message of a call.
func (c call) encode(serial uint32) []byte {
	var e encoder
	e.raw = append(e.raw, 'l', methodCall, 0, 1) // the mark of the byte order, the kind, no flags, the version
	e.uint32(uint32(len(c.body)))
	e.uint32(serial)
	e.list(8, func() {
		e.field(fieldPath, "o", c.path)
		e.field(fieldDestination, "s", c.to)
		e.field(fieldAPI, "s", c.api)
		e.field(fieldMember, "s", c.method)
		if c.signature != "" {
			e.field(fieldSignature, "g", c.signature)
		}
	})
	e.align(8)
	return append(e.raw, c.body...)
}

// encoder writes values one after the other, in the order of little endians.
type encoder struct{ raw []byte }

func (e *encoder) align(n int) {
	e.raw = append(e.raw, make([]byte, padded(len(e.raw), n)-len(e.raw))...)
}

func (e *encoder) uint32(v uint32) {
	e.align(4)
	e.raw = binary.LittleEndian.AppendUint32(e.raw, v)
}

func (e *encoder) text(s string) {
	e.uint32(uint32(len(s)))
	e.raw = append(append(e.raw, s...), 0)
}

func (e *encoder) signature(s string) {
	e.raw = append(append(append(e.raw, byte(len(s))), s...), 0)
}

func (e *encoder) bytes(b []byte) {
	e.uint32(uint32(len(b)))
	e.raw = append(e.raw, b...)
}

// list writes a list of values that stand at multiples of n. Its length is known when it is written.
func (e *encoder) list(n int, values func()) {
	e.uint32(0)
	at := len(e.raw)
	e.align(n)
	begin := len(e.raw)
	values()
	binary.LittleEndian.PutUint32(e.raw[at-4:], uint32(len(e.raw)-begin))
}

// field writes a field of a message.
func (e *encoder) field(number byte, signature, value string) {
	e.align(8)
	e.raw = append(e.raw, number)
	e.signature(signature)
	if signature == "g" {
		e.signature(value)
	} else {
		e.text(value)
	}
}

// texts writes a dictionary of texts.
func (e *encoder) texts(all [][2]string) {
	e.list(8, func() {
		for _, pair := range all {
			e.align(8)
			e.text(pair[0])
			e.text(pair[1])
		}
	})
}
