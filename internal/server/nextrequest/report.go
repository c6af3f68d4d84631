package nextrequest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/location/instruction"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// The kinds of sources.
const (
	kindSystem  = "system"
	kindContext = "context"
	kindTool    = "tool"
	kindMessage = "message"
)

// report describes a request.
type report struct{ *engine.NextRequest }

// tally sums up the sources of a request.
type tally struct {
	rows  []*tallyRow
	ratio float64
	scale float64 // of estimates, so that they add up to the estimate of the request
}

type tallyRow struct {
	api.ContextSource
	size, cached scope.RequestSize
}

// add counts a part of the request under a name.
func (t *tally) add(kind, name string, size scope.RequestSize, cached bool) *tallyRow {
	i := slices.IndexFunc(t.rows, func(r *tallyRow) bool { return r.Kind == kind && r.Name == name })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, &tallyRow{ContextSource: api.ContextSource{Kind: kind, Name: name}})
	}
	r := t.rows[i]
	r.Count++
	r.size = r.size.Add(size)
	if cached {
		r.cached = r.cached.Add(size)
	}
	return r
}

// list returns the sources, the largest first. Their sums are those of the request: what rounding leaves, and the
// blank lines between texts, belongs to the largest.
func (t *tally) list(bytes, tokens int64) []api.ContextSource {
	out := make([]api.ContextSource, len(t.rows))
	for i, r := range t.rows {
		r.Bytes = r.size.Bytes
		r.Tokens = int64(float64(r.size.EstimateTokens(t.ratio))*t.scale + 0.5)
		r.Cached = int64(float64(r.cached.EstimateTokens(t.ratio))*t.scale + 0.5)
		out[i] = r.ContextSource
	}
	slices.SortStableFunc(out, func(a, b api.ContextSource) int { return cmp.Compare(b.Tokens, a.Tokens) })
	for _, s := range out {
		bytes, tokens = bytes-s.Bytes, tokens-s.Tokens
	}
	if len(out) > 0 {
		out[0].Bytes, out[0].Tokens = out[0].Bytes+bytes, out[0].Tokens+tokens
	}
	return out
}

func textSize(text string) scope.RequestSize { return scope.MeasureText(text) }

// describeRequest describes the request.
func (d report) describeRequest() api.ContextRequest {
	t := &tally{ratio: d.Model.TokensPerByte, scale: 1}
	if n := d.Size.EstimateTokens(t.ratio); n > 0 {
		t.scale = float64(d.Tokens) / float64(n)
	}
	shared := compareWithLast(d.Last, d.Record, d.Prefix)
	d.addSystem(t, shared.system)
	for _, tool := range d.Built.Tools {
		t.add(kindTool, tool.Name, scope.MeasureTools([]llm.ToolDefinition{tool}), shared.tools)
	}
	d.addMessages(t, shared.messages)
	out := api.ContextRequest{
		SessionID: d.Session.ID, Agent: d.Agent.ID, Model: d.Model.Ref, Bytes: d.Size.Bytes, Tokens: d.Tokens,
		Messages: len(d.Built.Messages), Sources: t.list(d.Size.Bytes, d.Tokens), Prefix: *d.Record, Prompts: d.Prompts,
		Update: maskText(d.Update), Waiting: d.Waiting, Window: d.measureWindow(),
	}
	out.Missing, out.Servers = d.listMissingPages(), d.listMissingServers()
	d.foreseeShrinking(&out)
	if last := d.Last; last != nil {
		out.Last = &api.ContextTurn{MessageID: last.ID, Hash: last.Prefix.Hash}
		if last.Tokens != nil {
			out.Last.Tokens = *last.Tokens
		}
	}
	return out
}

// listMissingPages returns the addresses of instructions that were never fetched.
func (d report) listMissingPages() (missing []string) {
	for _, s := range d.Sources {
		for _, p := range s.Parts {
			if strings.HasSuffix(p.Text, instruction.NotFetched) {
				missing = append(missing, p.Name)
			}
		}
	}
	return missing
}

// listMissingServers says which MCP servers the newest turn lacked, and why.
func (d report) listMissingServers() (notes []string) {
	for _, s := range d.Sources {
		if s.Key == mcp.MissingKey {
			notes = append(notes, mcp.DescribeMissing(s)...)
		}
	}
	return notes
}

// foreseeShrinking says what the next turn does to the history before it sends a request.
func (d report) foreseeShrinking(out *api.ContextRequest) {
	tokens := d.Tokens
	if d.HidesOutputs(d.Input) {
		turns, freed := d.ListPrunable()
		for _, t := range turns {
			out.Hides.Outputs += len(t.Calls)
		}
		out.Hides.Tokens, tokens = freed, tokens-freed
	}
	if !d.NeedsCompaction() || tokens < d.CompactionLimit() {
		return
	}
	if err := d.CheckCompaction(); err != nil {
		out.Problem = err.Error()
		return
	}
	out.Compacts = true
}

func (d report) measureWindow() (w api.ContextWindow) {
	w.Size, w.Compact = d.Model.Window.InputLimit(), d.CompactionLimit()
	if w.Size > 0 {
		w.Room = w.Size - d.Model.Window.RequestLimit(d.Scope.Compaction.Reserved)
		w.Fill = float64(d.Tokens*1000/w.Size) / 10
	}
	return w
}

// sharedPrefix is the part of a request that equals the last one, in the order in which providers cache it.
type sharedPrefix struct {
	tools, system bool
	messages      int
}

func compareWithLast(last *session.Assistant, now *session.CachePrefix, p llm.Prefix) (s sharedPrefix) {
	if last == nil || last.Prefix.Model != now.Model {
		return s
	}
	before := last.Prefix
	s.tools = before.Tools == now.Tools
	s.system = s.tools && before.System == now.System
	if s.system && before.Messages <= now.Messages && p.MessagesSum(before.Messages).String() == before.Hash {
		s.messages = before.Messages
	}
	return s
}

// addSystem counts the system texts: those of the agent and the model, of the context, and of the prompt.
func (d report) addSystem(t *tally, cached bool) {
	texts := d.Built.System
	if d.Agent.System != "" {
		t.add(kindSystem, "prompt of the agent "+d.Agent.ID, textSize(d.Agent.System), cached)
	}
	if d.Model.System != "" {
		t.add(kindSystem, "prompt of the model", textSize(d.Model.System), cached)
	}
	if d.Agent.System+d.Model.System != "" {
		texts = texts[1:]
	}
	if d.Input.Baseline != "" {
		texts = texts[1:]
		d.addContext(t, cached)
	}
	for _, text := range texts {
		t.add(kindSystem, "system text of the prompt", textSize(text), cached)
	}
	if len(d.Built.OutputSchema) > 0 {
		t.add(kindSystem, "schema of the answer", textSize(string(d.Built.OutputSchema)), cached)
	}
}

// addContext divides the baseline by its sources. What no source accounts for, because the source has changed since the
// baseline was rendered, counts for the sources that lie there.
func (d report) addContext(t *tally, cached bool) {
	rest := d.Input.Baseline
	var unmatched []systemcontext.SourceDescription
	// settle counts text between two sources for the sources that were not found before it.
	settle := func(text string) {
		if text = strings.TrimSpace(text); text == "" && len(unmatched) == 0 {
			return
		}
		var keys []string
		for _, u := range unmatched {
			keys = append(keys, u.Key)
		}
		name := cmp.Or(strings.Join(keys, ", "), "sources that are gone")
		r := t.add(kindContext, name, textSize(text), cached)
		if len(unmatched) > 0 {
			r.State = string(unmatched[0].State)
		}
		unmatched = nil
	}
	// Find the text of each source in the baseline, in order.
	for _, s := range d.Sources {
		whole := joinParts(s.Parts)
		at := strings.Index(rest, whole)
		if whole == "" || at < 0 {
			if s.State != systemcontext.StateNew { // a message announces a new one
				unmatched = append(unmatched, s)
			}
			continue
		}
		settle(rest[:at])
		for _, p := range s.Parts {
			r := t.add(kindContext, cmp.Or(p.Name, s.Key), textSize(p.Text), cached)
			r.State = string(s.State)
		}
		rest = rest[at+len(whole):]
	}
	settle(rest)
}

func joinParts(parts []systemcontext.SourcePart) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

// addMessages counts the messages; the first shared ones of the request are cached.
func (d report) addMessages(t *tally, shared int) {
	seen := 0
	compacted := d.History.NewestCompaction()
	for _, m := range d.History.VisibleMessages(d.Input.BaselineSeq) {
		kept := m.Meta().Seq < compacted && m.Meta().Type != session.TypeSystem
		for _, lowered := range history.Lower([]session.Message{m}, d.Model, d.Session.Excluded...) {
			seen++
			d.addMessage(t, m, lowered, messageState{kept: kept, cached: seen <= shared})
		}
	}
	for _, extra := range d.Built.Messages[min(seen, len(d.Built.Messages)):] {
		t.add(kindMessage, "notes of cairn", scope.MeasureMessages([]llm.Message{extra}), false)
	}
}

type messageState struct{ kept, cached bool }

func (d report) addMessage(t *tally, m session.Message, lowered llm.Message, s messageState) {
	if s.kept {
		t.add(kindMessage, "kept beside the summary", scope.MeasureMessages([]llm.Message{lowered}), s.cached)
		return
	}
	frame := scope.MeasureMessages([]llm.Message{{}})
	if c, ok := m.(*session.Compaction); ok {
		facts := textSize(history.RecordText(c.Record))
		all := scope.MeasureMessages([]llm.Message{lowered})
		t.add(kindMessage, "summary", scope.RequestSize{Bytes: all.Bytes - facts.Bytes}, s.cached)
		if facts.Bytes > 0 {
			t.add(kindMessage, "facts beside the summary", facts, s.cached)
		}
		return
	}
	for i, p := range lowered.Parts {
		size := scope.MeasureMessages([]llm.Message{{Parts: []llm.Part{p}}})
		if i > 0 {
			size.Bytes -= frame.Bytes
		}
		t.add(kindMessage, namePart(m, p), size, s.cached)
	}
}

// namePart names the source of a part of a message.
func namePart(m session.Message, p llm.Part) string {
	switch p := p.(type) {
	case llm.Media:
		return "images and documents"
	case llm.Reasoning:
		return "reasoning"
	case llm.ToolCall:
		return "calls of tools"
	case llm.ToolResult:
		return "output of " + p.Name
	}
	switch m.Meta().Type {
	case session.TypeUser:
		return "prompts"
	case session.TypeAssistant:
		return "answers"
	case session.TypeSystem:
		return "changes of the context"
	case session.TypeShell:
		return "commands of the user"
	default:
		return "notes of cairn"
	}
}
