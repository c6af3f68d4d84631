package script

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
)

// MaxRequests is how many requests a Player remembers; older ones are forgotten first.
const MaxRequests = 256

// Player is a Model that answers with the turns of a script. It is safe for concurrent use; requests that arrive
// together take turns in an order of their own, which Match can pin down.
type Player struct {
	// Gates holds the channels for the gates of the script, by name. A step passes its gate when a receive from the
	// channel succeeds: close it to let all pass, send to let one. Set it before the first Stream.
	Gates map[string]chan struct{}

	script  Script
	invalid error
	match   []*regexp.Regexp // by turn; nil without Match

	mu       sync.Mutex // guards the fields below
	served   []int      // by turn: requests it has answered
	total    int
	requests []*llm.Request
}

// New returns a Player at the beginning of s, which must not be changed afterwards. A script that does not validate
// makes a Player whose every Stream fails with what is wrong.
func New(s Script) *Player {
	p := &Player{script: s, served: make([]int, len(s.Turns)), match: make([]*regexp.Regexp, len(s.Turns))}
	if p.invalid = s.Validate(); p.invalid != nil {
		return p
	}
	for i, turn := range s.Turns {
		if turn.Match != "" {
			p.match[i] = regexp.MustCompile(turn.Match)
		}
	}
	return p
}

// Stream plays the turn that answers req. A turn is used up when its stream begins, however that ends.
func (p *Player) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, llm.AsError(ctx, err))
			return
		}
		turn, request, err := p.take(req)
		if err != nil {
			yield(nil, &llm.Error{Class: llm.InvalidRequest, Message: "script: " + clip(err.Error(), 480)})
			return
		}
		perform(ctx, performance{turn: turn, request: request, req: req, gates: p.Gates}, yield)
	}
}

// Requests returns what the Player was asked, oldest first: the last MaxRequests of them. The caller owns the slice;
// the messages in it are shared and are not to be changed.
func (p *Player) Requests() []*llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Total returns how many requests the Player has received.
func (p *Player) Total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// take notes req and uses the turn that answers it. The number counts the requests from 1.
func (p *Player) take(req *llm.Request) (turn Turn, request int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
	if len(p.requests) == MaxRequests {
		p.requests = slices.Delete(p.requests, 0, 1)
	}
	p.requests = append(p.requests, copyOf(req))
	if p.invalid != nil {
		return Turn{}, p.total, p.invalid
	}
	i, ok := p.choose(lastUserText(req.Messages))
	if !ok {
		return Turn{}, p.total, fmt.Errorf(
			"no turn is left for request %d; the script has %d; add one, or set \"repeat\": true on the last",
			p.total, len(p.script.Turns),
		)
	}
	p.served[i]++
	return p.script.Turns[i], p.total, nil
}

// choose picks the turn for a request whose last user text is text. The caller holds mu.
func (p *Player) choose(text string) (int, bool) {
	inOrder := -1
	for i, turn := range p.script.Turns {
		if !turn.Repeat && p.served[i] >= max(turn.Times, 1) {
			continue
		}
		if p.match[i] == nil {
			if inOrder < 0 {
				inOrder = i
			}
			continue
		}
		if p.match[i].MatchString(text) {
			return i, true
		}
	}
	return inOrder, inOrder >= 0
}

// copyOf protects what was received from a caller who builds the next request in the same slices.
func copyOf(req *llm.Request) *llm.Request {
	c := *req
	c.System = slices.Clone(req.System)
	c.Messages = slices.Clone(req.Messages)
	c.Tools = slices.Clone(req.Tools)
	return &c
}

// lastUserText returns the text of the last user message; "" if there is none.
func lastUserText(messages []llm.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.RoleUser {
			return textOf(messages[i].Parts)
		}
	}
	return ""
}
