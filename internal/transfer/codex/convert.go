package codex

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// state is where the conversation stands while its items are converted.
type state struct {
	builder *foreign.Builder
	model   session.ModelRef
	turn    *foreign.Turn // newest, nil before the first
	closed  bool          // the next item of the model begins a turn
	used    bool          // the turn has its usage; a further one is of a request for a summary
}

// convert adds the messages of all items.
func (f *rollout) convert() {
	s := &state{builder: f.builder, model: session.ModelRef{ProviderID: f.provider, ID: "unknown"}, closed: true}
	for _, it := range f.items {
		switch it.kind {
		case "turn_context":
			s.model.ID = cmp.Or(it.Text("model"), s.model.ID)
			known := f.builder.Session()
			known.Directory = cmp.Or(known.Directory, it.Text("cwd"))
		case "usage":
			if s.turn != nil && !s.used {
				s.turn.Usage(tokensOf(it.Object))
			}
			s.closed, s.used = true, true
		case "compacted":
			s.addCompaction(it)
		default:
			s.addResponse(it)
		}
	}
}

// addResponse adds a response item. Items of the model join its turn until a result, a prompt or a usage ends it.
func (s *state) addResponse(it item) {
	switch kind := it.Text("type"); kind {
	case "message", "agent_message":
		s.addMessage(it)
	case "reasoning":
		s.open(it).Reasoning(it.at, reasoningOf(it.Object))
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
		name, input, reason := callOf(it.Object)
		if reason != "" {
			s.builder.Problem(it.row, "arguments", reason)
		}
		s.open(it).Call(it.at, cmp.Or(it.Text("call_id"), it.Text("id")), name, input)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		s.closed = true
		if !s.builder.Settle(it.row, it.at, it.Text("call_id"), s.resultOf(it)) {
			s.builder.Problem(it.row, "call_id", "the call of the result is missing")
		}
	case "web_search_call", "image_generation_call":
		s.addHosted(it, kind)
	}
}

// open returns the turn of an item of the model.
func (s *state) open(it item) *foreign.Turn {
	if s.closed || s.turn == nil {
		s.turn, s.closed, s.used = s.builder.Turn(it.row, it.at, s.model), false, false
	}
	return s.turn
}

// addHosted adds a call that the provider ran. Its result is in the item, if anywhere.
func (s *state) addHosted(it item, kind string) {
	name, input := "websearch", it.Object.Object("action")
	if kind == "image_generation_call" {
		name, input = "image_generation", foreign.Object{"prompt": foreign.Quote(it.Text("revised_prompt"))}
	} else if input.Text("type") != "search" && input.Has("url") {
		name = "webfetch"
	}
	id := cmp.Or(it.Text("call_id"), it.Text("id"), it.row)
	s.open(it).Call(it.at, id, name, input)
	var out foreign.Result
	if it.Has("result") {
		f, reason := foreign.DataFile("image/png", "", it.Text("result"))
		if reason != "" {
			s.builder.Problem(it.row, "result", reason)
		} else {
			out.Files = []session.File{f}
		}
	}
	if it.Text("status") == "failed" {
		out.Reason = session.ReasonTool
	}
	s.builder.Settle(it.row, it.at, id, out)
}

// addCompaction adds the summary that replaces what was before. A summary that only OpenAI can read replaces nothing:
// the messages before it stay visible to the model that goes on.
func (s *state) addCompaction(it item) {
	s.closed = true
	summary := it.Text("message")
	if history := it.Objects("replacement_history"); summary == "" && len(history) > 0 {
		if last := history[len(history)-1]; last.Text("type") == "message" {
			summary = textOf(last)
		}
	}
	if strings.TrimSpace(summary) == "" {
		s.builder.System(it.row, it.at, "Codex replaced the messages before this one by a summary that is encrypted.")
		return
	}
	s.builder.Compaction(it.row, it.at, foreign.Summary{Reason: session.CompactionAuto, Text: summary})
}

// addMessage adds a message. Instructions of the program are left out: cairn has its own.
func (s *state) addMessage(it item) {
	switch role := it.Text("role"); {
	case role == "assistant" || it.Text("type") == "agent_message":
		for _, c := range it.Objects("content") {
			if text := cmp.Or(c.Text("text"), c.Text("refusal")); text != "" {
				s.open(it).Text(it.at, text)
			} else if !c.Has("text") && !c.Has("encrypted_content") {
				s.builder.Problem(it.row, "content", "the kind of content is unknown")
			}
		}
	case role == "developer", role == "system":
	case role == "user":
		s.closed = true
		s.addPrompt(it)
	default:
		s.builder.Problem(it.row, "role", "the role is unknown")
	}
}

// addPrompt adds a user message: a prompt, a command that the user ran, or what Codex tells the model.
func (s *state) addPrompt(it item) {
	text := textOf(it.Object)
	trimmed := strings.TrimSpace(text)
	switch {
	case isContext(trimmed):
	case strings.HasPrefix(trimmed, "<user_shell_command>"):
		_, output, _ := strings.Cut(between(trimmed, "result"), "Output:")
		s.builder.Shell(it.row, it.at, between(trimmed, "command"), strings.TrimSpace(output))
	case !isPrompt(it.Object):
		s.builder.Synthetic(it.row, it.at, text)
	default:
		s.builder.User(it.row, it.at, text, s.filesOf(it.row, "content", it.Objects("content")))
	}
	if it.Object["content"].Kind() != '[' {
		s.builder.Problem(it.row, "content", "it is not a list")
	}
}

// between returns the text within the element.
func between(text, name string) string {
	_, rest, _ := strings.Cut(text, "<"+name+">")
	if end := strings.LastIndex(rest, "</"+name+">"); end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimSpace(rest)
}

// isContext reports whether the text tells the model about its surroundings. cairn tells that anew.
func isContext(text string) bool {
	for _, start := range []string{
		"<environment_context>", "<user_instructions>", "# AGENTS.md instructions for", "<permissions instructions>",
		"<skills_instructions>", "<apps_instructions>", "<plugins_instructions>", "<collaboration_mode>",
	} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// isPrompt reports whether a person wrote the message. Recent versions say so; the texts of others tell.
func isPrompt(o foreign.Object) bool {
	if o.Text("type") != "message" || o.Text("role") != "user" {
		return false
	}
	meta := o.Object("internal_chat_message_metadata_passthrough").Objects("content_item_metadata")
	if len(meta) > 0 && meta[0].Object("provenance").Text("type") == "harness" {
		return false
	}
	text := strings.TrimSpace(textOf(o))
	for _, start := range []string{
		"<turn_aborted>", "<subagent_notification>", "<user_shell_command>", "<skill>", "<hook_context>",
		"<goal_context>", "<model_switch>",
	} {
		if strings.HasPrefix(text, start) {
			return false
		}
	}
	return !isContext(text)
}

// textOf returns the texts of a message.
func textOf(o foreign.Object) string {
	var texts []string
	for _, c := range o.Objects("content") {
		if text := c.Text("text"); text != "" && !isImageTag(text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// isImageTag reports whether the text only encloses an image.
func isImageTag(text string) bool {
	return text == "</image>" || strings.HasPrefix(text, "<image") && strings.HasSuffix(text, ">") && len(text) < 1000
}

// filesOf returns the files of content.
func (s *state) filesOf(row, field string, content []foreign.Object) []session.File {
	var out []session.File
	for i, c := range content {
		switch kind := c.Text("type"); kind {
		case "input_text", "output_text", "text", "encrypted_content":
		case "input_image", "input_file", "input_audio":
			uri := cmp.Or(c.Text("image_url"), c.Text("file_data"), c.Text("audio_url"))
			f, reason := foreign.FileOfURI(uri, c.Text("filename"))
			if reason != "" {
				s.builder.Problem(row, fmt.Sprintf("%s[%d]", field, i), reason)
				continue
			}
			out = append(out, f)
		default:
			s.builder.Problem(row, fmt.Sprintf("%s[%d]", field, i), "the kind of content is unknown")
		}
	}
	return out
}

// reasoningOf returns the thoughts themselves if the model shows them, else their summary.
func reasoningOf(o foreign.Object) string {
	for _, name := range []string{"content", "summary"} {
		var texts []string
		for _, c := range o.Objects(name) {
			if text := c.Text("text"); text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 {
			return strings.Join(texts, "\n\n")
		}
	}
	return ""
}

// resultOf returns the outcome in an output: text, content, or an object with either.
func (s *state) resultOf(it item) foreign.Result {
	var out foreign.Result
	output := it.Object["output"]
	if o := it.Object.Object("output"); o != nil {
		if o.Has("success") && !o.Bool("success") {
			out.Reason = session.ReasonTool
		}
		output = o["content"]
	}
	content := foreign.Object{"content": output}
	switch {
	case output.Kind() == '"':
		out.Text = shellOutput(content.Text("content"))
	case output.Kind() == '[':
		out.Text = textOf(content)
		out.Files = s.filesOf(it.row, "output", content.Objects("content"))
	case it.Has("tools"): // of tool_search_output
		out.Text = string(foreign.Object{"tools": it.Object["tools"]}.Value())
	case it.Has("output"):
		s.builder.Problem(it.row, "output", "it is neither text nor content")
	}
	switch {
	case strings.HasPrefix(out.Text, "aborted by user"), out.Text == "aborted":
		out.Reason = session.ReasonAborted
	case strings.HasPrefix(out.Text, "exec command rejected by user"), strings.HasPrefix(out.Text, "rejected by user"):
		out.Reason = session.ReasonDenied
	}
	return out
}

// shellOutput returns the output in the JSON that the older shell tools return, else the text itself.
func shellOutput(text string) string {
	if !strings.HasPrefix(text, `{"output":`) {
		return text
	}
	o, reason := foreign.ParseObject([]byte(text))
	meta := o.Object("metadata")
	if reason != "" || !meta.Has("exit_code") {
		return text
	}
	if code := meta.Int("exit_code"); code != 0 {
		return fmt.Sprintf("%s\nExit code: %d", strings.TrimSuffix(o.Text("output"), "\n"), code)
	}
	return o.Text("output")
}

// callOf returns cairn's name and arguments of a call.
func callOf(o foreign.Object) (name string, in foreign.Object, reason string) {
	name = o.Text("name")
	switch o.Text("type") {
	case "local_shell_call":
		name, in = "shell", o.Object("action")
		in = in.Rename("working_directory", "workdir")
	case "tool_search_call":
		name, in = "tool_search", o.Object("arguments")
	case "custom_tool_call":
		in = foreign.Object{"input": foreign.Quote(o.Text("input"))}
	default:
		if in, reason = foreign.ParseObject([]byte(o.Text("arguments"))); reason != "" {
			in = foreign.Object{}
		}
	}
	if space := o.Text("namespace"); space != "" && !strings.HasPrefix(name, space) {
		name = space + name
	}
	name, in = mapTool(name, in)
	return name, in, reason
}

// mapTool returns cairn's name and arguments of a call. Tools without an equivalent stay as they are.
func mapTool(name string, in foreign.Object) (string, foreign.Object) {
	switch name {
	case "shell", "container.exec", "exec_command", "shell_command":
		in = in.Rename("cmd", "command", "timeout_ms", "timeout", "justification", "description")
		if args := in.Texts("command"); len(args) > 0 {
			in = in.With("command", foreign.Quote(commandLine(args)))
		}
		return "bash", in
	case "apply_patch":
		return "apply_patch", in.Rename("input", "patchText", "patch", "patchText")
	case "update_plan":
		var todos []session.Todo
		for _, p := range in.Objects("plan") {
			todos = append(todos, foreign.NewTodo(p.Text("step"), p.Text("status")))
		}
		return "todowrite", foreign.TodoInput(todos)
	case "view_image", "read_file":
		return "read", in.Rename("path", "filePath", "file_path", "filePath")
	case "list_dir":
		return "list", in.Rename("dir_path", "path")
	case "grep_files":
		return "grep", in
	case "request_user_input":
		return "question", in
	}
	return name, in
}

// commandLine returns the command of an argument list: the script of a shell, else the arguments, quoted.
func commandLine(args []string) string {
	if len(args) == 3 && (args[1] == "-lc" || args[1] == "-c") {
		return args[2]
	}
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
