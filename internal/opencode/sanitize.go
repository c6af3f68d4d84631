package opencode

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Sanitized leaves of an exported session what says nothing of its content: texts, paths and what is not known become
// [redacted:KIND:ID], as in OpenCode's export.
func Sanitized(info jsontext.Value) jsontext.Value {
	m := members(info)
	c := cleaner{m, textIn(m, "id")}
	c.only("id", "slug", "projectID", "workspaceID", "directory", "path", "parentID", "summary", "cost", "tokens", "title", "agent", "model",
		"version", "time", "permission", "revert")
	c.text("title", "session-title")
	c.text("directory", "session-directory")
	c.text("path", "session-path")
	c.inside("summary", func(s cleaner) {
		s.only("additions", "deletions", "files", "diffs")
		s.diffs("session-diff")
	})
	c.inside("revert", func(r cleaner) {
		r.only("messageID", "partID", "snapshot", "diff")
		r.text("snapshot", "revert-snapshot")
		r.text("diff", "revert-diff")
	})
	return object(m)
}

// SanitizedMessage is Sanitized for a message.
func SanitizedMessage(raw jsontext.Value) jsontext.Value {
	m := members(raw)
	cleaner{m, ""}.only("info", "parts")
	info := members(m["info"])
	cleanInfo(cleaner{info, textIn(info, "id")})
	m["info"] = object(info)
	cleaner{m, ""}.each("parts", func(_ int, p cleaner) { cleanPart(cleaner{p.of, textIn(p.of, "id")}) })
	return object(m)
}

func cleanInfo(c cleaner) {
	c.only("id", "sessionID", "role", "time", "summary", "agent", "model", "system", "tools", "parentID", "modelID", "providerID", "variant",
		"mode", "path", "cost", "tokens", "finish", "error")
	c.text("system", "system")
	c.inside("path", func(p cleaner) {
		p.only("cwd", "root")
		p.text("cwd", "cwd")
		p.text("root", "root")
	})
	c.inside("summary", func(s cleaner) {
		s.only("title", "body", "diffs")
		s.text("title", "summary-title")
		s.text("body", "summary-body")
		s.diffs("message-diff")
	})
	c.inside("error", cleanError)
}

// cleanError leaves the name of what went wrong; what a provider or a tool said of it may repeat anything.
func cleanError(e cleaner) {
	e.only("name", "data")
	e.inside("data", func(d cleaner) {
		d.only("message", "statusCode", "isRetryable", "providerID", "retries")
		d.text("message", "error")
	})
}

// partMembers are those of each kind of part that are kept, redacted or not.
var partMembers = map[string][]string{
	"text":        {"text", "synthetic", "ignored", "time", "metadata"},
	"reasoning":   {"text", "time", "metadata"},
	"file":        {"mime", "filename", "url", "source"},
	"agent":       {"name", "source"},
	"subtask":     {"prompt", "description", "agent", "model", "command"},
	"step-start":  {"snapshot"},
	"step-finish": {"reason", "snapshot", "cost", "tokens"},
	"patch":       {"hash", "files"},
	"snapshot":    {"snapshot"},
	"compaction":  {"auto", "overflow", "tail_start_id"},
	"retry":       {"attempt", "error", "time"},
	"tool":        {"callID", "tool", "state", "metadata"},
}

func cleanPart(c cleaner) {
	kind := textIn(c.of, "type")
	c.only(append([]string{"id", "sessionID", "messageID", "type"}, partMembers[kind]...)...)
	switch kind {
	case "text", "reasoning":
		c.text("text", kind)
		c.hide("metadata", kind+"-metadata")
	case "file":
		cleanFile(c)
	case "agent":
		c.inside("source", func(s cleaner) { s.text("value", "agent-source") })
	case "subtask":
		c.text("prompt", "subtask-prompt")
		c.text("description", "subtask-description")
		c.text("command", "subtask-command")
	case "step-start", "step-finish", "snapshot":
		c.text("snapshot", "snapshot")
	case "patch":
		c.text("hash", "patch")
		c.list("files", "patch-file")
	case "retry":
		c.inside("error", cleanError)
	case "tool":
		c.hide("metadata", "tool-metadata")
		c.inside("state", cleanState)
	}
}

func cleanFile(c cleaner) {
	c.text("filename", "file-name")
	c.text("url", "file-url")
	c.inside("source", func(s cleaner) {
		s.only("type", "path", "name", "kind", "range", "clientName", "uri", "text")
		s.text("path", "file-path")
		s.text("name", "file-symbol")
		s.text("clientName", "file-client")
		s.text("uri", "file-uri")
		s.inside("text", func(t cleaner) { t.text("value", "file-text") })
	})
}

func cleanState(s cleaner) {
	s.only("status", "input", "raw", "output", "title", "error", "metadata", "time", "attachments")
	s.hide("input", "tool-input")
	s.hide("metadata", "tool-state-metadata")
	for name, kind := range map[string]string{"raw": "tool-raw", "output": "tool-output", "title": "tool-title", "error": "tool-error"} {
		s.text(name, kind)
	}
	s.each("attachments", func(_ int, f cleaner) {
		f.only("id", "sessionID", "messageID", "type", "mime", "filename", "url", "source")
		cleanFile(cleaner{f.of, textIn(f.of, "id")})
	})
}

// cleaner redacts members of an object that belongs to whatever has the id.
type cleaner struct {
	of map[string]jsontext.Value
	id string
}

// only removes the members that are not named: what nobody knows may say anything.
func (c cleaner) only(names ...string) {
	for name := range c.of {
		if !slices.Contains(names, name) {
			delete(c.of, name)
		}
	}
}

func (c cleaner) mark(kind string) string { return fmt.Sprintf("%s:%s", kind, c.id) }

// text redacts a text; one of no letters says nothing.
func (c cleaner) text(name, kind string) {
	if v := c.of[name]; v != nil && string(v) != `""` {
		c.of[name] = marshalled("[redacted:" + c.mark(kind) + "]")
	}
}

// hide redacts an object; one of no members says nothing.
func (c cleaner) hide(name, kind string) {
	if v := c.of[name]; v != nil && !same(v, emptyObject) {
		c.of[name] = marshalled(map[string]string{"redacted": c.mark(kind)})
	}
}

func (c cleaner) inside(name string, f func(cleaner)) {
	if m := members(c.of[name]); m != nil {
		f(cleaner{m, c.id})
		c.of[name] = object(m)
	} else if k := c.of[name].Kind(); k != 't' && k != 'f' { // that a message is a summary
		delete(c.of, name)
	}
}

func (c cleaner) each(name string, f func(int, cleaner)) {
	var all []jsontext.Value
	if c.of[name] == nil || json.Unmarshal(c.of[name], &all) != nil {
		return
	}
	for i, v := range all {
		m := members(v)
		if m == nil {
			m = map[string]jsontext.Value{}
		}
		f(i, cleaner{m, c.id})
		all[i] = object(m)
	}
	c.of[name] = marshalled(all)
}

func (c cleaner) list(name, kind string) {
	var all []jsontext.Value
	if c.of[name] == nil || json.Unmarshal(c.of[name], &all) != nil {
		return
	}
	for i := range all {
		all[i] = marshalled(fmt.Sprintf("[redacted:%s-%d]", c.mark(kind), i))
	}
	c.of[name] = marshalled(all)
}

// diffs redacts what was changed in files.
func (c cleaner) diffs(kind string) {
	c.each("diffs", func(i int, d cleaner) {
		d.only("file", "patch", "additions", "deletions", "status")
		d.id = fmt.Sprint(i)
		d.text("file", kind+"-file")
		d.text("patch", kind+"-patch")
	})
}

func textIn(m map[string]jsontext.Value, name string) (s string) {
	_ = json.Unmarshal(m[name], &s) // what is no text is none
	return s
}
