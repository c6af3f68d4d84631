package peer

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Watcher sees the work on a prompt, from one goroutine.
type Watcher interface {
	// Part is called with each part that is whole: what the model said, a call that settled, the start and the end of a step.
	Part(p Shown)
	// Asked answers a request for a permission: once, always or reject.
	Asked(a Ask) string
	// Failed is called with what went wrong, as the server says it.
	Failed(e jsontext.Value)
}

// Shown is a part. Raw is all that the server says of it.
type Shown struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID"`
	Type      string `json:"type"`
	Text      string `json:"text"`
	Tool      string `json:"tool"`
	Synthetic bool   `json:"synthetic"`
	Reason    string `json:"reason"`
	Time      struct {
		End int64 `json:"end"`
	} `json:"time"`
	State struct {
		Status string         `json:"status"`
		Title  string         `json:"title"`
		Error  string         `json:"error"`
		Input  jsontext.Value `json:"input"`
	} `json:"state"`
	Cost   jsontext.Value `json:"cost"`
	Tokens jsontext.Value `json:"tokens"`
	Raw    jsontext.Value `json:"-"`
}

// Ask is a request for a permission.
type Ask struct {
	ID         string         `json:"id"`
	SessionID  string         `json:"sessionID"`
	Permission string         `json:"permission"`
	Patterns   []string       `json:"patterns"`
	Always     []string       `json:"always"` // what "always" would allow
	Metadata   jsontext.Value `json:"metadata"`
}

// afterwards is how long what belongs together may come apart: the answer to a prompt, and the event that says that the
// session rests.
const afterwards = 3 * time.Second

// Work sends the prompt and shows what comes of it, until the session rests. The events are read before the prompt is
// sent, so that none is missed. When ctx ends its cause is the error, whatever broke with it first.
func (c *Client) Work(ctx context.Context, session string, p Prompt, w Watcher) (err error) {
	defer func(outer context.Context) {
		if end, ok := outer.Deadline(); ok && !time.Now().Before(end) {
			<-outer.Done() // at once: what took the deadline over, such as an HTTP client, may have been first
		}
		if err != nil && outer.Err() != nil {
			err = context.Cause(outer)
		}
	}(ctx)
	ctx, cancel := context.WithCancel(ctx)
	events, ended := make(chan Event), make(chan error, 1)
	go func() { ended <- c.pump(ctx, events) }()
	answered := make(chan error, 1)
	sent := false
	defer func() { // both end with ctx
		cancel()
		<-ended
		if sent {
			<-answered
		}
	}()
	j := &job{client: c, session: session, watcher: w, shown: map[string]bool{}}
	var late <-chan time.Time
	for {
		select {
		case e := <-events:
			if e.Type == "server.connected" && !sent {
				sent = true
				go func() { answered <- c.Prompt(ctx, session, p) }()
			}
			if err := j.see(ctx, e); err != nil {
				return err
			}
		case err := <-answered:
			answered <- nil // for whoever waits
			if err != nil {
				return err
			}
			j.answered = true
		case err := <-ended:
			ended <- nil
			return err
		case <-late:
			return nil
		}
		switch {
		case j.answered && j.rests:
			return nil
		case j.answered || j.rests:
			if late == nil {
				late = time.After(afterwards)
			}
		default:
			late = nil
		}
	}
}

// pump hands events on until ctx ends or the stream breaks.
func (c *Client) pump(ctx context.Context, to chan<- Event) error {
	for e, err := range c.Events(ctx, "") {
		if err != nil {
			return err
		}
		select {
		case to <- e:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// job is the work on one prompt, as far as it was seen.
type job struct {
	client          *Client
	session         string
	watcher         Watcher
	shown           map[string]bool // parts
	busy            bool            // the work was seen to begin
	rests, answered bool
}

func (j *job) see(ctx context.Context, e Event) error {
	switch e.Type {
	case "message.part.updated":
		j.part(e)
	case "session.error":
		var p struct {
			SessionID string         `json:"sessionID"`
			Error     jsontext.Value `json:"error"`
		}
		if e.Read(&p) == nil && p.SessionID == j.session && len(p.Error) > 0 {
			j.watcher.Failed(p.Error)
		}
	case "session.status":
		var p struct {
			SessionID string `json:"sessionID"`
			Status    struct {
				Type string `json:"type"`
			} `json:"status"`
		}
		if e.Read(&p) == nil && p.SessionID == j.session {
			j.busy = j.busy || p.Status.Type != "idle"
			j.rests = j.busy && p.Status.Type == "idle"
		}
	case "permission.asked":
		var a Ask
		if e.Read(&a) == nil && a.SessionID == j.session {
			return j.client.Respond(ctx, a.ID, Reply{Reply: j.watcher.Asked(a)})
		}
	}
	return nil
}

// part shows a part once, when it is whole.
func (j *job) part(e Event) {
	var p struct {
		Part jsontext.Value `json:"part"`
	}
	var s Shown
	if e.Read(&p) != nil || json.Unmarshal(p.Part, &s, jsontext.AllowInvalidUTF8(true)) != nil || s.SessionID != j.session || j.shown[s.ID] {
		return
	}
	switch s.Type {
	case "text", "reasoning":
		if s.Time.End == 0 || s.Synthetic {
			return
		}
	case "tool":
		if s.State.Status != "completed" && s.State.Status != "error" {
			return
		}
	case "step-start", "step-finish":
	default:
		return
	}
	j.shown[s.ID], s.Raw = true, p.Part
	j.watcher.Part(s)
}
