package openairesponses

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// turn is the state of one answer between two frames. It belongs to the goroutine that ranges over Decode.
type turn struct {
	*wire.Stream
	d        Dialect
	response string // the provider's id of this answer
	stored   bool   // the provider stores the answer
	status   string // of the final event: completed or incomplete; empty until it arrives
	reason   string // why the answer is incomplete
	refused  bool
	numbers  frameNumbers
	usage    llm.Usage

	items itemTable
	calls wire.CallIDs
}

// applyFrame applies one frame. The protocol requires unknown events to be ignored.
func (t *turn) applyFrame(f *frame) error {
	t.Open()
	if f.Response != nil && t.response == "" {
		t.response, t.stored = wire.DecodeString(f.Response.ID), f.Response.Store
	}
	switch f.Type {
	case "response.completed", "response.incomplete":
		return t.applyEnd(f)
	case "response.output_item.added", "response.output_item.done":
		if f.Item == nil {
			return nil
		}
		it, err := t.items.matchItem(f)
		if err != nil {
			return err
		}
		return t.applyItem(it, f.Item, f.Type == "response.output_item.done")
	}
	return t.applyDelta(f)
}

// applyDelta applies a piece of an item.
func (t *turn) applyDelta(f *frame) error {
	find := func() (*item, error) { return t.items.matchItem(f) }
	switch f.Type {
	case "response.output_text.delta":
		return t.appendPiece(find, textBlock, f.ContentIndex, f.Delta)
	case "response.output_text.done":
		return t.appendWhole(find, textBlock, f.ContentIndex, f.Text)
	case "response.refusal.delta":
		t.refused = true
		return t.appendPiece(find, textBlock, f.ContentIndex, f.Delta)
	case "response.refusal.done":
		t.refused = true
		return t.appendWhole(find, textBlock, f.ContentIndex, f.Refusal)
	case "response.reasoning_summary_text.delta":
		return t.appendPiece(find, summaryBlock, f.SummaryIndex, f.Delta)
	case "response.reasoning_summary_text.done":
		return t.appendWhole(find, summaryBlock, f.SummaryIndex, f.Text)
	case "response.reasoning_text.delta":
		return t.appendPiece(find, thoughtBlock, f.ContentIndex, f.Delta)
	case "response.reasoning_text.done":
		return t.appendWhole(find, thoughtBlock, f.ContentIndex, f.Text)
	case "response.function_call_arguments.delta":
		return t.appendArguments(find, f.Delta, false)
	case "response.function_call_arguments.done":
		return t.appendArguments(find, f.Arguments, true)
	}
	return nil
}

// applyEnd applies the final event. It emits the items in it if they did not arrive in events of their own.
func (t *turn) applyEnd(f *frame) error {
	t.status, t.reason = "completed", ""
	if f.Response == nil {
		return nil
	}
	t.parseUsage(f.Response.Usage)
	t.usage.Billed = wire.ParseCredits(f.Copilot.Credits)
	if f.Type == "response.incomplete" || f.Response.Status == "incomplete" {
		t.status, t.reason = "incomplete", f.Response.Incomplete.Reason
	}
	if slices.ContainsFunc(t.items.order, func(it *item) bool { return it.done }) {
		t.completeReasoning(f.Response.Output)
		return nil
	}
	for i := range f.Response.Output {
		it, err := t.items.matchItem(&frame{OutputIndex: &i, Item: &f.Response.Output[i]})
		if err != nil {
			return err
		}
		if err := t.applyItem(it, &f.Response.Output[i], true); err != nil {
			return err
		}
	}
	return nil
}

// completeReasoning takes the encrypted content of items that came without it: Azure sends it with the end only.
func (t *turn) completeReasoning(output []outputItem) {
	for _, o := range output {
		for _, it := range t.items.order {
			if it.encrypted == nil && it.id != "" && it.id == wire.DecodeString(o.ID) && wire.IsNonEmptyString(o.Encrypted) {
				it.encrypted = o.Encrypted
				if it.late = len(it.blocks) == 0; it.late {
					t.beginBlock(it, summaryBlock, 0)
				}
			}
		}
	}
}

// finishTurn completes the turn after the last frame: the calls, then Finish, or an error.
func (t *turn) finishTurn(ended bool) error {
	if t.status == "" && ended && t.IsWhole(t.listArguments()...) {
		t.status = "unknown"
	}
	if err := t.CheckEnded(t.status != ""); err != nil {
		return err
	}
	for _, it := range t.items.order {
		t.closeItem(it)
	}
	reason := t.finishReason()
	if err := t.CheckContent(reason, t.hasCalls(), wire.NewFiltered()); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: t.usage})
	return nil
}

// finishReason converts the end of the answer.
func (t *turn) finishReason() llm.FinishReason {
	switch {
	case t.refused, t.reason == "content_filter":
		return llm.FinishContentFilter
	case t.reason == "max_output_tokens":
		return llm.FinishLength
	case t.status == "incomplete", t.status == "unknown":
		return llm.FinishUnknown
	case t.hasCalls():
		return llm.FinishToolCalls
	default:
		return llm.FinishStop
	}
}
