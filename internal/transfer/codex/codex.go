// Package codex reads the rollouts of Codex: files of JSON lines, of which the response items are the conversation.
package codex

import (
	"cmp"
	"io"
	"path"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// item is a row that makes a part of the conversation, or changes what the rows after it mean.
type item struct {
	foreign.Object        // the payload
	kind           string // type of the row, or "usage"
	row            string // for ids, unique
	at             int64
}

// rollout is a file that is being read.
type rollout struct {
	builder  *foreign.Builder
	items    []item
	seen     map[string]bool // ids of items
	hasMeta  bool
	provider string
	records  bool   // usage comes in token_usage_record
	total    string // of the newest token_count
}

// Read reads a rollout and returns its session, and none if it has no conversation. name is the name of the file, which
// names the session if no row does. The error is the reader's.
func Read(r io.Reader, name string) ([]foreign.Session, error) {
	f := &rollout{
		builder: foreign.NewBuilder(foreign.Session{Program: foreign.Codex, ID: sessionID(name)}),
		seen:    map[string]bool{}, provider: "openai",
	}
	if err := foreign.ReadLines(r, f.addLine); err != nil {
		return nil, err
	}
	f.convert()
	s := f.builder.Done()
	if len(s.Messages)+len(s.Problems) == 0 {
		return nil, nil
	}
	return []foreign.Session{s}, nil
}

// sessionID returns the id at the end of the name of a rollout, else the name.
func sessionID(name string) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	base = strings.TrimSuffix(strings.TrimSuffix(base, ".zst"), ".jsonl")
	const uuid = 36
	if len(base) > uuid && strings.HasPrefix(base, "rollout-") {
		return base[len(base)-uuid:]
	}
	return base
}

// addLine takes a line in. Its forms are {timestamp, type, payload}, and, until 2025, the payload of the first row or
// of a response item alone.
func (f *rollout) addLine(l foreign.Line) {
	b := f.builder
	if l.Problem != "" {
		b.Problem(l.Name(), "", l.Problem)
	}
	o, reason := foreign.ParseObject(l.Text)
	if l.Text != nil && reason != "" {
		b.Problem(l.Name(), "", reason)
	}
	at := o.Time("timestamp")
	b.Row(at)
	if o == nil {
		return
	}
	kind, payload := o.Text("type"), o.Object("payload")
	switch {
	case payload == nil && o.Has("payload"):
		b.Problem(l.Name(), "payload", "it is not an object")
		return
	case payload == nil && o.Has("record_type"):
		return
	case payload == nil && kind == "" && o.Has("id"):
		kind, payload = "session_meta", o
	case payload == nil && isResponse(kind):
		kind, payload = "response_item", o
	case payload == nil && kind != "":
		payload = foreign.Object{}
	}
	if !f.addRow(l.Name(), item{payload, kind, "", at}) {
		b.Problem(l.Name(), "type", "the type of the row is unknown")
	}
}

// addRow takes a row in. It reports whether its type is known.
func (f *rollout) addRow(line string, it item) bool {
	switch it.kind {
	case "session_meta":
		f.addMeta(it)
	case "response_item", "compacted":
		it.row = it.Text("id")
		if it.row == "" || f.seen[it.row] {
			it.row = line
		}
		f.seen[it.row] = true
		f.items = append(f.items, it)
		if it.kind == "response_item" && !isResponse(it.Text("type")) {
			return false
		}
	case "turn_context":
		f.items = append(f.items, it)
	case "token_usage_record":
		f.records = true
		f.addUsage(it, it.Object.Object("usage"))
	case "event_msg":
		f.addEvent(it)
	case "world_state", "inter_agent_communication", "turn_metadata":
	default:
		return false
	}
	return true
}

// addMeta takes the head of the file. A fork repeats the head of the session that it came from after its own.
func (f *rollout) addMeta(it item) {
	if f.hasMeta {
		return
	}
	f.hasMeta = true
	s := f.builder.Session()
	f.builder.SetID(cmp.Or(it.Text("id"), s.ID))
	s.Created = cmp.Or(it.Time("timestamp"), s.Created)
	s.Directory, s.Version = it.Text("cwd"), it.Text("cli_version")
	f.provider = cmp.Or(it.Text("model_provider"), f.provider)
	// A subagent names its parent in its source, in one of two forms.
	spawn := it.Object.Object("source").Object("subagent").Object("thread_spawn")
	s.ParentID = cmp.Or(it.Text("forked_from_id"), spawn.Text("parent_thread_id"), it.Text("parent_thread_id"))
	if s.ParentID == s.ID {
		s.ParentID = ""
	}
}

// addEvent takes the few facts that only events have. All others repeat the conversation.
func (f *rollout) addEvent(it item) {
	switch it.Text("type") {
	case "token_count":
		info := it.Object.Object("info")
		total := string(info.Object("total_token_usage").Value())
		if info != nil && !f.records && total != f.total {
			f.total = total
			f.addUsage(it, info.Object("last_token_usage"))
		}
	case "thread_name_updated":
		s := f.builder.Session()
		s.Title = cmp.Or(it.Text("thread_name"), it.Text("name"), s.Title)
	case "thread_rolled_back":
		f.rollBack(it.Int("num_turns"))
	}
}

func (f *rollout) addUsage(it item, usage foreign.Object) {
	if usage != nil {
		f.items = append(f.items, item{usage, "usage", "", it.at})
	}
}

// rollBack removes the items of the newest turns, each from its prompt on.
func (f *rollout) rollBack(turns int64) {
	for i := len(f.items) - 1; i >= 0 && turns > 0; i-- {
		if it := f.items[i]; it.kind == "response_item" && isPrompt(it.Object) {
			turns--
			f.items = f.items[:i]
		}
	}
}

// isResponse reports whether the type is one of a response item.
func isResponse(kind string) bool {
	switch kind {
	case "message", "agent_message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
		"custom_tool_call_output", "local_shell_call", "web_search_call", "image_generation_call", "tool_search_call",
		"tool_search_output", "ghost_snapshot", "compaction", "compaction_summary", "context_compaction",
		"compaction_trigger", "additional_tools", "other":
		return true
	}
	return false
}

// tokensOf returns the tokens of a request. Codex counts cached ones as input, and reasoning as output.
func tokensOf(u foreign.Object) session.Tokens {
	read, write := u.Int("cached_input_tokens"), u.Int("cache_write_input_tokens")
	reasoning := u.Int("reasoning_output_tokens")
	return session.Tokens{
		Input: max(0, u.Int("input_tokens")-read-write), Output: max(0, u.Int("output_tokens")-reasoning),
		Reasoning: reasoning, Cache: session.CacheUsage{Read: read, Write: write},
	}
}
