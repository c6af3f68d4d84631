package hook

import (
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// namePair is a name of cairn and that of Claude Code.
type namePair struct{ ours, theirs string }

// toolNames are the tools that Claude Code has under another name.
var toolNames = []namePair{
	{"bash", "Bash"},
	{"read", "Read"},
	{"write", "Write"},
	{"edit", "Edit"},
	{"apply_patch", "MultiEdit"},
	{"glob", "Glob"},
	{"grep", "Grep"},
	{"list", "LS"},
	{"webfetch", "WebFetch"},
	{"websearch", "WebSearch"},
	{"task", "Task"},
	{"todowrite", "TodoWrite"},
	{"todoread", "TodoRead"},
	{"skill", "Skill"},
	{"question", "AskUserQuestion"},
	{"plan_exit", "ExitPlanMode"},
	{"plan_enter", "EnterPlanMode"},
}

// memberNames are the members of the input of tools that Claude Code has under another name.
var memberNames = map[string][]namePair{
	"read":  {{"filePath", "file_path"}},
	"write": {{"filePath", "file_path"}},
	"edit": {
		{"filePath", "file_path"}, {"oldString", "old_string"}, {"newString", "new_string"}, {"replaceAll", "replace_all"},
	},
	"grep":  {{"include", "glob"}},
	"bash":  {{"background", "run_in_background"}},
	"skill": {{"name", "skill"}},
}

// claudeName returns the name under which Claude Code has the tool; its own name if it has none.
func (s *Set) claudeName(tool string) string {
	for _, p := range toolNames {
		if p.ours == tool {
			return p.theirs
		}
	}
	if s.options.ServerTool != nil {
		if server, remote, ok := s.options.ServerTool(tool); ok {
			return "mcp__" + server + "__" + remote
		}
	}
	return tool
}

// ourName returns the name of a tool that may be Claude Code's.
func ourName(tool string) string {
	for _, p := range toolNames {
		if p.theirs == tool {
			return p.ours
		}
	}
	return tool
}

// matchedNames returns the names of a tool that a matcher may have. Patches change files as edits and writes do, so the
// matchers of these select them, too.
func (s *Set) matchedNames(tool string) []string {
	names := []string{tool, s.claudeName(tool)}
	if tool == "apply_patch" {
		names = append(names, "Edit", "Write", "edit", "write")
	}
	return names
}

// translateInput returns the input of a call with Claude Code's names of its members and absolute paths. An input that is
// no object stays as it is.
func (s *Set) translateInput(tool string, input jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(input, &members) != nil || members == nil {
		return input
	}
	rename(members, memberNames[tool], func(p namePair) (string, string) { return p.ours, p.theirs })
	var path string
	if json.Unmarshal(members["file_path"], &path) == nil && path != "" {
		members["file_path"] = encode(s.absolute(path))
	}
	return encode(members)
}

// restoreInput undoes translateInput in an input that a hook returned.
func restoreInput(tool string, input jsontext.Value) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(input, &members) != nil || members == nil {
		return input
	}
	rename(members, memberNames[tool], func(p namePair) (string, string) { return p.theirs, p.ours })
	if tool == "apply_patch" {
		delete(members, "file_path")
	}
	return encode(members)
}

// rename renames members of an object. A name that is in use stays.
func rename(members map[string]jsontext.Value, pairs []namePair, order func(namePair) (from, to string)) {
	for _, p := range pairs {
		from, to := order(p)
		v, ok := members[from]
		if _, taken := members[to]; ok && !taken {
			delete(members, from)
			members[to] = v
		}
	}
}

func (s *Set) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.options.Directory, path)
}

// maxPatched bounds the files of a patch that are shown to hooks.
const maxPatched = 64

// splitInput returns the inputs under which a call is shown to hooks: that of a patch once for each file that it changes,
// with the member file_path, and any other one as it is. ok is false if there are too many.
func (s *Set) splitInput(tool string, input jsontext.Value) (inputs []jsontext.Value, ok bool) {
	translated := s.translateInput(tool, input)
	if tool != "apply_patch" {
		return []jsontext.Value{translated}, true
	}
	var patch struct {
		Text string `json:"patchText"`
	}
	_ = json.Unmarshal(input, &patch) // one without text changes no file
	var members map[string]jsontext.Value
	if json.Unmarshal(translated, &members) != nil || members == nil {
		return []jsontext.Value{translated}, true
	}
	for _, path := range listPatched(patch.Text) {
		if len(inputs) == maxPatched {
			return nil, false
		}
		members["file_path"] = encode(s.absolute(path))
		inputs = append(inputs, encode(members))
	}
	if len(inputs) == 0 {
		inputs = []jsontext.Value{translated}
	}
	return inputs, true
}

// listPatched returns the paths that a patch names.
func listPatched(text string) (paths []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if path, ok := strings.CutPrefix(line, head); ok {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}

// encode returns the value as JSON. What cannot be encoded is null.
func encode(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return raw
}
