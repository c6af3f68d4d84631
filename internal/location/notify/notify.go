// Package notify tells commands and webhooks of the configuration that a session waits for a person, or that its work has
// ended or failed.
//
// A process has one Sender. It gives each target one message after the other in the background; what is too much is
// dropped. Work never waits for it. A message has a short text and nothing else of the conversation.
package notify

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/hook"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

const (
	maxQueue       = 64               // messages that wait for one target
	defaultTimeout = 10 * time.Second // of a command, and of one request
	maxText        = 200              // bytes of the text and of the title of a message
)

// Message is what a target gets, as a JSON object.
type Message struct {
	Event     string      `json:"event"` // ask, end or failure
	SessionID session.ID  `json:"sessionID"`
	Title     string      `json:"title"`
	Directory string      `json:"directory"`
	Text      string      `json:"text"` // the beginning of the last answer, the failure, or what is asked
	Cost      session.USD `json:"cost"` // of the session so far, in US dollars
	Time      string      `json:"time"`
	Seconds   float64     `json:"seconds,omitzero"` // that the work took
}

// Options of a Sender.
type Options struct {
	// Find returns a session.
	Find       func(ctx context.Context, id session.ID) (*session.Session, error)
	Supervisor []string // see process.Spec
	Transport  http.RoundTripper
	Logger     *slog.Logger
}

// Sender tells targets of events. Safe for concurrent use.
type Sender struct {
	options Options
	client  *http.Client
	dropped atomic.Int64
	running sync.WaitGroup

	mu     sync.Mutex                 // guards the rest
	queues map[targetKey]*targetQueue // of the targets that have messages, or get one
	closed bool
}

// targetQueue is the messages that wait for a target. A goroutine empties it.
type targetQueue struct {
	waiting []delivery
	cancel  context.CancelFunc // of the goroutine
}

// targetKey names a target: a webhook, or a command of a directory.
type targetKey struct{ name, at string }

// delivery is a message for a target.
type delivery struct {
	name        string
	target      config.Notify
	directory   string
	environment process.Environment
	message     Message
}

// NewSender returns a sender that has no goroutine yet.
func NewSender(o Options) *Sender {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // headers have secrets
	return &Sender{
		options: o, client: &http.Client{Transport: o.Transport, CheckRedirect: stay},
		queues: map[targetKey]*targetQueue{},
	}
}

// Extensions returns an extension for each of the targets of a location.
func (s *Sender) Extensions(
	targets map[string]config.Notify, directory string, environment process.Environment,
) (out []extension.Extension) {
	environment.Pass = append(slices.Clone(environment.Pass),
		"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR") // for messages on the screen
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		target := targets[name]
		if !target.IsEnabled() {
			continue
		}
		out = append(out, extension.Extension{ID: "notify/" + name, Event: func(_ context.Context, e *extension.Event) error {
			if event := nameEvent(e); event != "" && (len(target.On) == 0 || slices.Contains(target.On, event)) {
				s.add(delivery{name, target, directory, environment, Message{
					Event: event, SessionID: e.SessionID, Text: session.ClipText(maskText(e.Text), maxText),
					Time: time.Now().UTC().Format(time.RFC3339), Seconds: e.Duration.Round(time.Millisecond).Seconds(),
				}})
			}
			return nil
		}})
	}
	return out
}

// nameEvent returns what a message calls the event; "" if there is no message. Work of subagents is part of other work,
// and a person who stopped work knows of its end.
func nameEvent(e *extension.Event) string {
	switch {
	case e.Type == extension.EventAsked:
		return "ask"
	case e.ParentID != "":
		return ""
	case e.Type == extension.EventWorkEnded && e.Cause == extension.CauseCompleted:
		return "end"
	case e.Type == extension.EventWorkFailed:
		return "failure"
	}
	return ""
}

// CountDropped returns how many messages were dropped because too many waited.
func (s *Sender) CountDropped() int64 { return s.dropped.Load() }

func (s *Sender) add(d delivery) {
	key := targetKey{d.name, cmp.Or(d.target.Webhook, d.directory)}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if s.closed || q != nil && len(q.waiting) >= maxQueue {
		s.dropped.Add(1)
		s.options.Logger.Warn("a message is dropped", "target", d.name, "event", d.message.Event,
			"session", d.message.SessionID)
		return
	}
	if q != nil {
		q.waiting = append(q.waiting, d)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.queues[key] = &targetQueue{[]delivery{d}, cancel}
	s.running.Go(func() {
		defer cancel()
		s.emptyQueue(ctx, key)
	})
}

// emptyQueue sends messages to a target until none waits.
func (s *Sender) emptyQueue(ctx context.Context, key targetKey) {
	for {
		s.mu.Lock()
		q := s.queues[key]
		if len(q.waiting) == 0 {
			delete(s.queues, key)
			s.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		s.mu.Unlock()
		if err := s.send(ctx, next); err != nil {
			s.options.Logger.Warn("a message could not be sent", "target", next.name, "event", next.message.Event,
				"session", next.message.SessionID, "error", err)
		}
	}
}

// send completes the message and sends it.
func (s *Sender) send(ctx context.Context, d delivery) error {
	info, err := s.options.Find(ctx, d.message.SessionID)
	if err != nil {
		return err
	}
	d.message.Title, d.message.Cost = session.ClipText(maskText(info.Title), maxText), info.Cost
	d.message.Directory = info.Location.Directory
	body, err := json.Marshal(d.message)
	if err != nil {
		return err
	}
	if d.target.Webhook != "" {
		return s.post(ctx, d, body)
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	argv := slices.Clone(d.target.Command)
	if argv[0], err = findProgram(argv[0], d.directory); err != nil {
		return err
	}
	run, err := hook.RunProgram(ctx, process.Spec{
		Argv: argv, Dir: d.directory, Env: d.environment.List(), Supervisor: s.options.Supervisor,
	}, body)
	if err == nil && run.Exit != 0 {
		err = exitError{run}
	}
	return err
}

// findProgram returns the path of a program: a name is looked for on PATH, and a relative path below the directory.
func findProgram(name, directory string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(directory, name)
	}
	return exec.LookPath(name)
}

// timeout returns the time of a command, or of one request.
func (d delivery) timeout() time.Duration {
	if t := d.target.Timeout.Duration(); t > 0 {
		return t
	}
	return defaultTimeout
}

// Close takes no more messages, and returns when those that wait are sent. When ctx ends it drops them.
func (s *Sender) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := 0
		for _, q := range s.queues {
			n += len(q.waiting)
			q.waiting = nil
			q.cancel()
		}
		if n > 0 {
			s.dropped.Add(int64(n))
			s.options.Logger.Warn("messages are dropped at the end of the process", "messages", n)
		}
	})
	s.running.Wait()
	stop()
	s.client.CloseIdleConnections()
}

// maskText hides what looks like a credential: a title repeats the first prompt.
func maskText(text string) string { return string(redact.MaskText([]byte(text))) }
