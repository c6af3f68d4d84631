package openaichat

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	*wire.Stream
	d        Dialect
	begun    bool
	streams  bool   // a delta has arrived
	response string // the provider's id of this answer
	reason   string // the finish reason as sent; empty until it arrives
	refused  bool
	executed bool // the vendor ran tools of its own
	usage    llm.Usage
	billed   *int64 // in pico-dollars, if the vendor reports it

	open    block // the current block, if any
	details details
	calls   callList
	sources sources
	images  []llm.Media
}

// block is a run of text or of reasoning; an empty id means no block.
type block struct {
	wire.TextRun
	field string // the field of the reasoning
}

// applyChunk applies one frame. The answer ends with the stream, not with the finish marker: some servers send it with
// each chunk, or before the last call. A message beside or after a delta repeats the answer, as Perplexity's API sends
// it; servers that do not stream send a message alone.
func (t *turn) applyChunk(c *chunk) error {
	if !t.begun {
		t.begun = true
		t.response = wire.DecodeString(c.ID)
	}
	// What belongs to the chunk as a whole comes first; the last chunk often has no choices.
	t.Open()
	t.updateUsage(c)
	t.sources.replaceList(keyCitations, c.Citations)
	for i := range c.Choices {
		a := &c.Choices[i]
		// Only the first choice is the answer.
		if a.Index != 0 {
			if err := t.applyOtherChoice(a); err != nil {
				return err
			}
			continue
		}
		// Take the delta; else a whole message, if no delta came before and the answer has not ended.
		d := a.Delta
		if d == nil && !t.streams && t.reason == "" {
			d = a.Message
		}
		t.streams = t.streams || a.Delta != nil
		if d != nil {
			if err := t.applyDelta(d); err != nil {
				return err
			}
		}
		// The last finish reason counts; an empty one does not erase it.
		t.reason = cmp.Or(wire.DecodeString(a.FinishReason), t.reason)
	}
	return nil
}

// applyOtherChoice takes the calls of another choice if the first one has none: some gateways put text and calls into
// different choices. cairn requests one.
func (t *turn) applyOtherChoice(a *alternative) error {
	d := cmp.Or(a.Delta, a.Message)
	if d == nil || len(d.ToolCalls) == 0 || len(t.calls.list) > 0 && t.calls.choice != a.Index {
		return nil
	}
	t.calls.choice = a.Index
	return t.applyDelta(&delta{ToolCalls: d.ToolCalls})
}

// applyDelta applies one piece of the answer in the order that keeps blocks together: reasoning, text, calls, then
// sources and images.
func (t *turn) applyDelta(d *delta) error {
	// Reasoning. The details are kept to be sent back; their text is shown if no plain field has it.
	if wire.IsPresent(d.ReasoningDetails) {
		t.details.add(d.ReasoningDetails)
	}
	if field, text := d.findReasoning(); field != "" {
		t.appendReasoning(field, text)
	} else if wire.IsPresent(d.ReasoningDetails) {
		for _, text := range detailTexts(d.ReasoningDetails) {
			t.appendReasoning(t.d.reasoningField(), text)
		}
	}
	// Text. A refusal is text, too, and is remembered for the finish reason.
	t.appendContent(d.Content)
	if wire.IsNonEmptyString(d.Refusal) {
		t.refused = true
		t.appendContent(d.Refusal)
	}
	// Calls. function_call is the old form of a single one.
	if d.FunctionCall != nil {
		d.ToolCalls = append(d.ToolCalls, callDelta{Function: *d.FunctionCall})
	}
	for i := range d.ToolCalls {
		if err := t.applyCall(&d.ToolCalls[i]); err != nil {
			return err
		}
	}
	// Sources, tools that the vendor ran, and images.
	t.sources.appendList(keyAnnotations, d.Annotations)
	t.sources.replaceList(keyExecuted, d.Executed)
	t.executed = t.executed || wire.IsPresent(d.Executed)
	for _, image := range d.Images {
		t.addImage(wire.DecodeString(image.ImageURL.URL))
	}
	return nil
}

// addImage keeps a generated image for the end. An invalid or excess image becomes a note.
func (t *turn) addImage(url string) {
	m, ok := wire.DecodeDataURL(url)
	if ok && len(t.images) < wire.MaxCalls {
		t.images = append(t.images, m)
		return
	}
	note := wire.UnshownNote("a picture", url)
	if t.HasContent() {
		note = "\n" + note
	}
	t.appendContent(wire.Quote(note))
}

// appendContent appends to the text. Some vendors send a list of text and reasoning parts instead of a string.
func (t *turn) appendContent(content jsontext.Value) {
	switch {
	case wire.IsNonEmptyString(content):
		t.beginBlock(false)
		t.AppendText(&t.open.TextRun, t.open.Joiner.Next(content))
	case content.Kind() == '[':
		for _, p := range contentParts(content) {
			t.appendReasoning(t.d.reasoningField(), p.Thinking)
			for _, thought := range contentParts(p.Thinking) {
				t.appendReasoning(t.d.reasoningField(), thought.Text)
			}
			if wire.IsNonEmptyString(p.Text) {
				t.appendContent(p.Text)
			}
		}
	}
}

func contentParts(v jsontext.Value) (parts []contentPart) {
	if v.Kind() == '[' {
		_ = wire.DecodeLenient(v, &parts) // invalid content has no parts
	}
	return parts
}

func (t *turn) appendReasoning(field string, text jsontext.Value) {
	if !wire.IsNonEmptyString(text) {
		return
	}
	t.beginBlock(true)
	t.open.field = field
	t.AppendText(&t.open.TextRun, t.open.Joiner.Next(text))
}

// beginBlock opens a block of reasoning or of text, unless the open block is of that kind.
func (t *turn) beginBlock(reasoning bool) {
	if t.open.ID != "" && t.open.Reasoning == reasoning {
		return
	}
	t.close()
	t.open = block{TextRun: t.BeginRun(reasoning)}
}

// close ends the open block, if there is one, with its metadata.
func (t *turn) close() {
	if t.open.ID == "" {
		return
	}
	t.FlushText(&t.open.TextRun)
	if t.open.Reasoning {
		t.EndRun(&t.open.TextRun, t.reasoningMetadata())
	} else {
		t.EndRun(&t.open.TextRun, t.d.newMetadata(t.sources.takeAll()))
	}
	t.open = block{}
}

// reasoningMetadata returns the metadata of the reasoning block that ends.
func (t *turn) reasoningMetadata() llm.Metadata {
	fields := map[string]jsontext.Value{}
	if v := t.details.takeAll(); v != nil {
		fields[keyDetails] = v
	}
	if f := t.open.field; f != "" && f != t.d.reasoningField() && t.d.reasoningField() != NoReasoning {
		fields[keyField] = wire.Quote(f)
	}
	return t.d.newMetadata(fields)
}

// finishTurn completes the turn after the last frame: the calls, then Finish, or an error. Some vendors never send a
// finish reason: an answer that marks its own end and reports its usage is then complete; without usage its end is
// unknown.
func (t *turn) finishTurn(ended bool) error {
	// Complete a missing finish reason if the answer is known to be whole, else fail.
	switch {
	case t.reason != "" || !ended:
	case t.usage.Raw != nil:
		t.reason = "stop"
	case t.IsWhole(t.calls.listArguments()...):
		t.reason = "unknown"
	}
	if err := t.CheckEnded(t.reason != ""); err != nil {
		return err
	}
	// Close the open block. Details without text need a block that carries them.
	t.close()
	if len(t.details.list) > 0 {
		t.beginBlock(true)
		t.close()
	}
	// Images come after the text, since they have no position in it.
	if len(t.images) > 0 {
		t.MarkContent()
		for _, e := range wire.ImageEvents(t.calls.ids.MakeUnique("", t.response), nil, t.images...) {
			t.Emit(e)
		}
	}
	// The finish reason says that there are calls, but none came: the answer was damaged.
	announced := slices.Contains([]string{"tool_calls", "function_call", "tool_use"}, t.reason)
	if announced && len(t.calls.list) == 0 && !t.executed && t.HasContent() {
		return wire.NewMissingCall()
	}
	// Convert the reason, and fail for an answer that is an error or is empty without a reason.
	reason := t.finishReason()
	if reason == llm.FinishError {
		return &llm.Error{Class: llm.Overloaded, Message: "the provider ended the answer with finish reason " + t.reason}
	}
	if err := t.CheckContent(reason, len(t.calls.list) > 0, wire.NewFiltered()); err != nil {
		return err
	}
	// Calls are complete only now; a finished answer is the last event.
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: t.usage})
	return nil
}

// finishReason converts the finish reason. An answer with calls is never just "stop", and one without calls is never
// "tool-calls": the loop would wait for results that cannot come.
func (t *turn) finishReason() llm.FinishReason {
	if t.refused {
		return llm.FinishContentFilter
	}
	switch t.reason {
	case "stop", "tool_calls", "function_call", "tool_use", "end_turn", "eos", "stop_sequence", "eos_token":
		if len(t.calls.list) > 0 {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "length", "max_tokens", "model_length":
		return llm.FinishLength
	case "content_filter", "safety", "sensitive":
		return llm.FinishContentFilter
	case "error", "network_error", "insufficient_system_resource", "abort":
		return llm.FinishError
	default:
		return llm.FinishUnknown
	}
}
