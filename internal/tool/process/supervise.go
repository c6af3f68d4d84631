package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// MaxProcesses is the default limit of the processes of one command at a time.
const MaxProcesses = 1024

// SuperviseWord is the argument of the program that makes it call RunSupervisor.
const SuperviseWord = "__supervise"

// SupervisorCommand returns the command that starts this program as a supervisor; nil on systems without one.
func SupervisorCommand() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, SuperviseWord}
}

// supervisorOrder is the work of a supervisor. It follows its length on the socket between the server and the
// supervisor, with the descriptors of the command's input if HasInput, output, standard error unless Quiet, and read
// ruleset if HasRuleset.
type supervisorOrder struct {
	Argv []byte `json:"argv"` // of the command; each word ends with NUL
	Env  []byte `json:"env"`  // NAME=value of the command; each ends with NUL
	Dir  []byte `json:"dir"`

	GraceMS   int64  `json:"graceMs"`
	Processes int    `json:"processes"`
	Mark      uint64 `json:"mark"` // call mark of the command (proctable.NewCallMark)
	HasInput  bool   `json:"hasInput"`
	Quiet     bool   `json:"quiet"` // discard standard error

	Policy     *sandbox.Policy      `json:"policy"` // confines the command; nil for none
	HasRuleset bool                 `json:"hasRuleset"`
	Guard      *protected.FileGuard `json:"guard"`
	Watch      bool                 `json:"watch"` // check the guard while the command runs as well
}

// maxOrder bounds the bytes of a supervisorOrder: a guard may hold copies of files.
const maxOrder = 64 << 20

// joinWords returns the words, each with NUL at its end.
func joinWords(words []string) (joined []byte, err error) {
	for _, w := range words {
		if strings.ContainsRune(w, 0) {
			return nil, errors.New("a word or a variable of the command contains a NUL byte")
		}
		joined = append(append(joined, w...), 0)
	}
	return joined, nil
}

func splitWords(joined []byte) (words []string) {
	for word := range bytes.SplitAfterSeq(joined, []byte{0}) {
		if text, ok := strings.CutSuffix(string(word), "\x00"); ok {
			words = append(words, text)
		}
	}
	return words
}

// encode returns the order after its length.
func (o supervisorOrder) encode() ([]byte, error) {
	text, err := json.Marshal(o)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), err
}

// readOrder returns the order of this length, which was read from the socket.
func readOrder(from io.Reader, size uint32) (o supervisorOrder, err error) {
	if size > maxOrder {
		return o, fmt.Errorf("an order of %d bytes is too long", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return o, err
	}
	// A member that another version sent may be a restriction.
	return o, json.Unmarshal(text, &o, json.RejectUnknownMembers(true))
}

// supervisorReport is one message of a supervisor, an object on a line.
type supervisorReport struct {
	protected.GuardReport
	Accepted bool   `json:"accepted,omitzero"` // it is ready to run the command, and waits for a byte to do it
	Error    string `json:"error,omitzero"`    // why it cannot run the command
	// Exit is the exit code of the command. The supervisor stays for processes that the command left behind. A supervisor
	// that ends without it could not start the command, or was killed.
	Exit *int `json:"exit,omitzero"`
}

// supervisorProcess is a supervisor that has been started. It waits for an order or works on one.
type supervisorProcess struct {
	cmd     *exec.Cmd
	started time.Time
	conn    *net.UnixConn // the second byte written to it after the order, or its end, makes it end everything
	from    *jsontext.Decoder
	// namespace has the namespaces that the supervisor was started in; nil if they are those of this process
	namespace *sandbox.Namespace
}

// read returns the next report. ok is false at the end.
func (s *supervisorProcess) read() (m supervisorReport, ok bool) {
	return m, json.UnmarshalDecode(s.from, &m) == nil
}

// readUntilExit passes findings of the guard to show until the supervisor reports the exit code of the command. ok is
// false if the supervisor ended instead.
func (s *supervisorProcess) readUntilExit(show func(protected.GuardReport)) (code int, ok bool) {
	for m, ok := s.read(); ok; m, ok = s.read() {
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
func (s *supervisorProcess) readAll(show func(protected.GuardReport)) {
	for m, ok := s.read(); ok; m, ok = s.read() {
		show(m.GuardReport)
	}
}

// endProcess ends a supervisor that has no order.
func (s *supervisorProcess) endProcess() {
	_ = s.conn.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// A supervisor accepts an order within acceptTimeout, or within startTimeout after its start.
const (
	acceptTimeout = 2 * time.Second
	startTimeout  = 30 * time.Second
)

// spareLifetime bounds the wait of a supervisor for a command.
const spareLifetime = time.Minute

// Spare keeps a supervisor that was started before its command, because the start of a process of this
// program takes longer than most commands. The zero value is ready to use; a nil one keeps none.
type Spare struct {
	mu      sync.Mutex // guards waiting
	waiting *supervisorProcess
}

// Start starts a supervisor, unless one waits. A start that fails is tried again with the command.
func (s *Spare) Start(program []string, isolated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(program) == 0 || s.waiting != nil && s.waiting.isIsolated() == isolated {
		return
	}
	started, err := startSupervisor(program, isolated)
	if err != nil {
		return
	}
	if s.waiting != nil {
		go s.waiting.endProcess()
	}
	s.waiting = started
	time.AfterFunc(spareLifetime, func() {
		if s.takeOut(func(p *supervisorProcess) bool { return p == started }) != nil {
			started.endProcess()
		}
	})
}

// spareDelay is the time after a call in which its changes are recorded and the next request is sent, which the start
// of a process would slow down.
const spareDelay = 50 * time.Millisecond

// StartLater starts a supervisor for the call after one that ends now.
func (s *Spare) StartLater(program []string, isolated bool) {
	time.AfterFunc(spareDelay, func() { s.Start(program, isolated) })
}

// takeFitting takes the waiting supervisor if it is isolated as requested; else it returns nil.
func (s *Spare) takeFitting(isolated bool) *supervisorProcess {
	if s == nil {
		return nil
	}
	return s.takeOut(func(p *supervisorProcess) bool { return p.isIsolated() == isolated })
}

// takeOut removes the waiting supervisor and returns it if fits accepts it; else it returns nil.
func (s *Spare) takeOut(fits func(*supervisorProcess) bool) (taken *supervisorProcess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil && fits(s.waiting) {
		taken, s.waiting = s.waiting, nil
	}
	return taken
}

func (s *supervisorProcess) isIsolated() bool { return s.namespace != nil }
