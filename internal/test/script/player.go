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

// MaxRequests is the number of requests that a Player remembers; it forgets older ones first.
const MaxRequests = 256

// Player is a Model that answers with the turns of a script. It is safe for concurrent use. The order of concurrent
// requests is undefined; Match can assign their turns.
type Player struct {
	// Gates holds the channels of the script's gates by name. A step passes its gate when a receive from the channel
	// succeeds: close it to let all pass, send to let one pass. Set it before the first Stream.
	Gates map[string]chan struct{}

	script  Script
	invalid error
	match   []*regexp.Regexp // by turn; nil without Match

	mu       sync.Mutex // guards the fields below
	served   []int      // by turn: requests it has answered
	total    int
	requests []*llm.Request
}

// New returns a Player at the beginning of s, which must not change afterwards. If s is invalid, every Stream fails
// with the reason.
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

// ContextWindow returns the size of the model's context window in tokens, 0 if it is unknown.
func (p *Player) ContextWindow() int64 { return p.script.Window }

// Stream plays the turn that answers req. A turn is used up when its stream begins.
func (p *Player) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, llm.AsError(ctx, err))
			return
		}
		turn, request, err := p.useTurn(req)
		if err != nil {
			yield(nil, &llm.Error{Class: llm.InvalidRequest, Message: "script: " + clip(err.Error(), 480)})
			return
		}
		playTurn(ctx, performance{turn: turn, request: request, req: req, gates: p.Gates}, yield)
	}
}

// ListRequests returns the last MaxRequests requests, oldest first. The caller owns the slice but must not modify the
// messages.
func (p *Player) ListRequests() []*llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// CountRequests returns the number of requests so far.
func (p *Player) CountRequests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// useTurn records req and returns the turn that answers it with the number of the request, counted from 1.
func (p *Player) useTurn(req *llm.Request) (turn Turn, request int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
	if len(p.requests) == MaxRequests {
		p.requests = slices.Delete(p.requests, 0, 1)
	}
	p.requests = append(p.requests, cloneRequest(req))
	if p.invalid != nil {
		return Turn{}, p.total, p.invalid
	}
	i, ok := p.chooseTurn(lastUserText(req.Messages))
	if !ok {
		return Turn{}, p.total, fmt.Errorf(
			"no turn is left for request %d; the script has %d; add one, or set \"repeat\": true on the last",
			p.total, len(p.script.Turns),
		)
	}
	p.served[i]++
	return p.script.Turns[i], p.total, nil
}

// chooseTurn picks the turn for a request whose last user text is text. The caller holds mu.
func (p *Player) chooseTurn(text string) (int, bool) {
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

// cloneRequest copies a request, because the caller may build the next one in the same slices.
func cloneRequest(req *llm.Request) *llm.Request {
	c := *req
	c.System = slices.Clone(req.System)
	c.Messages = slices.Clone(req.Messages)
	c.Tools = slices.Clone(req.Tools)
	return &c
}

// lastUserText returns the text of the last user message; "" without a user message.
func lastUserText(messages []llm.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.RoleUser {
			return textOf(messages[i].Parts)
		}
	}
	return ""
}
