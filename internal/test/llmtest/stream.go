package llmtest

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/llm"
)

// CheckStream checks that the events of body, which may be any bytes, follow llm's contract: their order, valid text,
// unique ids, one end, and no local call without a successful end.
func CheckStream(tb testing.TB, decode Decode, body string) {
	tb.Helper()
	c := streamChecker{TB: tb, open: map[string]bool{}, ended: map[string]bool{}, called: map[string]bool{}}
	for e, err := range decode(strings.NewReader(body)) {
		if c.over {
			tb.Fatalf("%T after the end", e)
		}
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				tb.Fatalf("%T is no *llm.Error: %v", err, err)
			}
			c.over = true
			if c.local {
				tb.Fatalf("a call was given out, and then: %v", err)
			}
			continue
		}
		c.checkEvent(e)
	}
	if !c.over {
		tb.Fatal("the stream has no end")
	}
}

// streamChecker is the state of CheckStream.
type streamChecker struct {
	testing.TB
	open, ended, called map[string]bool
	local, over         bool
}

func (c *streamChecker) checkEvent(e llm.Event) {
	// Blocks begin, grow and end; a result follows its call; at the end no block is open.
	switch e := e.(type) {
	case llm.TextStart:
		c.beginBlock("text " + e.ID)
	case llm.TextDelta:
		c.growBlock("text "+e.ID, e.Delta)
	case llm.TextEnd:
		c.endBlock("text " + e.ID)
	case llm.ReasoningStart:
		c.beginBlock("reasoning " + e.ID)
	case llm.ReasoningDelta:
		c.growBlock("reasoning "+e.ID, e.Delta)
	case llm.ReasoningEnd:
		c.endBlock("reasoning " + e.ID)
	case llm.ToolInputStart:
		c.beginBlock("input " + e.ID)
	case llm.ToolInputDelta:
		c.growBlock("input "+e.ID, e.Delta)
	case llm.ToolInputEnd:
		c.endBlock("input " + e.ID)
	case llm.ToolCallEvent:
		c.checkCall(e)
	case llm.HostedResult:
		if !c.called[e.ID] || !e.Result.IsValid() {
			c.Fatalf("bad result %+v", e)
		}
	case llm.Finish:
		c.over = true
		if len(c.open) > 0 {
			c.Fatalf("open blocks at the end: %v", c.open)
		}
	}
}

func (c *streamChecker) checkCall(e llm.ToolCallEvent) {
	if c.open["input "+e.ID] || c.called[e.ID] || e.ID == "" || e.Name == "" {
		c.Fatalf("a call out of order, or twice: %+v", e)
	}
	if (e.Invalid == "") != (e.Input.Kind() == '{' && e.Input.IsValid()) {
		c.Fatalf("bad call %+v", e)
	}
	c.called[e.ID] = true
	c.local = c.local || !e.Hosted
}

func (c *streamChecker) beginBlock(id string) {
	if c.open[id] || c.ended[id] {
		c.Fatalf("block %s begins twice", id)
	}
	c.open[id] = true
}

func (c *streamChecker) growBlock(id, delta string) {
	if !c.open[id] || delta == "" || !utf8.ValidString(delta) {
		c.Fatalf("bad delta %q of block %s", delta, id)
	}
}

func (c *streamChecker) endBlock(id string) {
	if !c.open[id] {
		c.Fatalf("block %s ends without a beginning", id)
	}
	delete(c.open, id)
	c.ended[id] = true
}
