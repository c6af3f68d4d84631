package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// MaxProcesses is the default limit of the processes of one command at a time.
const MaxProcesses = 1024

// supervisorOrder is the work of a supervisor.
type supervisorOrder struct {
	grace     time.Duration
	processes int
	mark      uint64 // call mark of the command (proctable.NewCallMark)
	argv      []string
}

// encodeArgs returns the order as arguments for a supervisor.
func (o supervisorOrder) encodeArgs() []string {
	return append([]string{
		strconv.FormatInt(o.grace.Milliseconds(), 10), strconv.Itoa(o.processes), strconv.FormatUint(o.mark, 10),
	}, o.argv...)
}

func parseOrder(args []string) (supervisorOrder, error) {
	if len(args) < 4 {
		return supervisorOrder{}, errors.New(
			"it needs a time in milliseconds, a number of processes, a call mark, and a command",
		)
	}
	ms, err := strconv.Atoi(args[0])
	most, err2 := strconv.Atoi(args[1])
	mark, err3 := strconv.ParseUint(args[2], 10, 64)
	return supervisorOrder{time.Duration(ms) * time.Millisecond, most, mark, args[3:]}, errors.Join(err, err2, err3)
}

// guardOrder passes the guard of a command to its supervisor, at the start of the lifeline, after its length.
type guardOrder struct {
	Guard *protected.FileGuard `json:"guard"`
	Watch bool                 `json:"watch"` // check while the command runs as well
}

// maxGuard bounds the bytes of a guardOrder.
const maxGuard = 64 << 20

// sendGuard sends the guard to a supervisor that has started.
func sendGuard(lifeline io.Writer, g *protected.FileGuard, watch bool) error {
	text, err := json.Marshal(guardOrder{g, watch})
	if err != nil {
		return err
	}
	_, err = lifeline.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

// receiveGuard returns what sendGuard sent.
func receiveGuard(lifeline io.Reader) (o guardOrder, err error) {
	var size uint32
	if err := binary.Read(lifeline, binary.BigEndian, &size); err != nil {
		return o, err
	}
	if size > maxGuard {
		return o, fmt.Errorf("%d bytes are too many", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(lifeline, text); err != nil {
		return o, err
	}
	return o, json.Unmarshal(text, &o)
}

// supervisorReport is one message of a supervisor, an object on a line.
type supervisorReport struct {
	protected.GuardReport
	// Exit is the exit code of the command, if the supervisor stays for processes that the command left behind. Without
	// it, the supervisor ends with the exit code.
	Exit *int `json:"exit,omitzero"`
}

// reportReader reads the messages of a supervisor. A nil one reads nothing.
type reportReader struct {
	file *os.File
	from *jsontext.Decoder
}

// read returns the next message. ok is false at the end.
func (r *reportReader) read() (m supervisorReport, ok bool) {
	if r == nil {
		return m, false
	}
	if r.from == nil {
		r.from = jsontext.NewDecoder(r.file)
	}
	return m, json.UnmarshalDecode(r.from, &m) == nil
}

// readUntilExit passes findings of the guard to show until the supervisor reports the exit code of the command and
// stays for its background processes. ok is false if the supervisor ended instead.
func (r *reportReader) readUntilExit(show func(protected.GuardReport)) (code int, ok bool) {
	for m, ok := r.read(); ok; m, ok = r.read() {
		if m.Note != "" {
			show(m.GuardReport)
		}
		if m.Exit != nil {
			return *m.Exit, true
		}
	}
	return 0, false
}

// readAll passes findings of the guard to show until the supervisor ends.
func (r *reportReader) readAll(show func(protected.GuardReport)) {
	for m, ok := r.read(); ok; m, ok = r.read() {
		show(m.GuardReport)
	}
}

func (r *reportReader) close() {
	if r != nil {
		_ = r.file.Close()
	}
}
