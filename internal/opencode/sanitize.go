package opencode

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SanitizeSession replaces the content of an exported session: texts, paths and unknown members become
// [redacted:KIND:ID], as in OpenCode's export.
func SanitizeSession(info jsontext.Value) jsontext.Value {
	m := membersOfObject(info)
	c := cleaner{m, textIn(m, "id")}
	c.keepMembers(
		"id", "slug", "projectID", "workspaceID", "directory", "path", "parentID", "summary", "cost", "tokens", "title",
		"agent", "model", "version", "time", "permission", "revert",
	)
	c.redactText("title", "session-title")
	c.redactText("directory", "session-directory")
	c.redactText("path", "session-path")
	c.redactInside("summary", func(s cleaner) {
		s.keepMembers("additions", "deletions", "files", "diffs")
		s.redactDiffs("session-diff")
	})
	c.redactInside("revert", func(r cleaner) {
		r.keepMembers("messageID", "partID", "snapshot", "diff")
		r.redactText("snapshot", "revert-snapshot")
		r.redactText("diff", "revert-diff")
	})
	return objectOf(m)
}

// SanitizeMessage does the same for a message.
func SanitizeMessage(raw jsontext.Value) jsontext.Value {
	m := membersOfObject(raw)
	cleaner{m, ""}.keepMembers("info", "parts")
	info := membersOfObject(m["info"])
	cleanInfo(cleaner{info, textIn(info, "id")})
	m["info"] = objectOf(info)
	cleaner{m, ""}.redactEach("parts", func(_ int, p cleaner) { cleanPart(cleaner{p.of, textIn(p.of, "id")}) })
	return objectOf(m)
}

func cleanInfo(c cleaner) {
	c.keepMembers(
		"id",
		"sessionID",
		"role",
		"time",
		"summary",
		"agent",
		"model",
		"system",
		"tools",
		"parentID",
		"modelID",
		"providerID",
		"variant",
		"mode",
		"path",
		"cost",
		"tokens",
		"finish",
		"error",
	)
	// Values that may name the user or a project are replaced; the structure stays.
	c.redactText("system", "system")
	c.redactInside("path", func(p cleaner) {
		p.keepMembers("cwd", "root")
		p.redactText("cwd", "cwd")
		p.redactText("root", "root")
	})
	c.redactInside("summary", func(s cleaner) {
		s.keepMembers("title", "body", "diffs")
		s.redactText("title", "summary-title")
		s.redactText("body", "summary-body")
		s.redactDiffs("message-diff")
	})
	c.redactInside("error", cleanError)
}

// cleanError keeps the name of an error only; its text may repeat anything.
func cleanError(e cleaner) {
	e.keepMembers("name", "data")
	e.redactInside("data", func(d cleaner) {
		d.keepMembers("message", "statusCode", "isRetryable", "providerID", "retries")
		d.redactText("message", "error")
	})
}

// partMembers are the members of each kind of part that are kept, redacted or not.
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
	c.keepMembers(append([]string{"id", "sessionID", "messageID", "type"}, partMembers[kind]...)...)
	switch kind {
	case "text", "reasoning":
		c.redactText("text", kind)
		c.redactObject("metadata", kind+"-metadata")
	case "file":
		cleanFile(c)
	case "agent":
		c.redactInside("source", func(s cleaner) { s.redactText("value", "agent-source") })
	case "subtask":
		c.redactText("prompt", "subtask-prompt")
		c.redactText("description", "subtask-description")
		c.redactText("command", "subtask-command")
	case "step-start", "step-finish", "snapshot":
		c.redactText("snapshot", "snapshot")
	case "patch":
		c.redactText("hash", "patch")
		c.redactList("files", "patch-file")
	case "retry":
		c.redactInside("error", cleanError)
	case "tool":
		c.redactObject("metadata", "tool-metadata")
		c.redactInside("state", cleanState)
	}
}

func cleanFile(c cleaner) {
	if !IsPublicMediaType(textIn(c.of, "mime")) {
		c.redactText("mime", "file-mime")
	}
	c.redactText("filename", "file-name")
	c.redactText("url", "file-url")
	c.redactInside("source", func(s cleaner) {
		s.keepMembers("type", "path", "name", "kind", "range", "clientName", "uri", "text")
		s.redactText("path", "file-path")
		s.redactText("name", "file-symbol")
		s.redactText("clientName", "file-client")
		s.redactText("uri", "file-uri")
		s.redactInside("text", func(t cleaner) { t.redactText("value", "file-text") })
	})
}

func cleanState(s cleaner) {
	s.keepMembers("status", "input", "raw", "output", "title", "error", "metadata", "time", "attachments")
	s.redactObject("input", "tool-input")
	s.redactObject("metadata", "tool-state-metadata")
	for name, kind := range map[string]string{
		"raw": "tool-raw", "output": "tool-output", "title": "tool-title",
		"error": "tool-error",
	} {
		s.redactText(name, kind)
	}
	s.redactEach("attachments", func(_ int, f cleaner) {
		f.keepMembers("id", "sessionID", "messageID", "type", "mime", "filename", "url", "source")
		cleanFile(cleaner{f.of, textIn(f.of, "id")})
	})
}

// cleaner redacts members of an object; id is the id in the replacement.
type cleaner struct {
	of map[string]jsontext.Value
	id string
}

// keepMembers removes all other members, because unknown members may contain anything.
func (c cleaner) keepMembers(names ...string) {
	for name := range c.of {
		if !slices.Contains(names, name) {
			delete(c.of, name)
		}
	}
}

func (c cleaner) replacementFor(kind string) string { return fmt.Sprintf("%s:%s", kind, c.id) }

// redactText redacts a text, unless it is empty.
func (c cleaner) redactText(name, kind string) {
	if v := c.of[name]; v != nil && string(v) != `""` {
		c.of[name] = encodeValue("[redacted:" + c.replacementFor(kind) + "]")
	}
}

// redactObject redacts an object, unless it is empty.
func (c cleaner) redactObject(name, kind string) {
	if v := c.of[name]; v != nil && !equalJSON(v, emptyObject) {
		c.of[name] = encodeValue(map[string]string{"redacted": c.replacementFor(kind)})
	}
}

func (c cleaner) redactInside(name string, f func(cleaner)) {
	if m := membersOfObject(c.of[name]); m != nil {
		f(cleaner{m, c.id})
		c.of[name] = objectOf(m)
	} else if k := c.of[name].Kind(); k != 't' && k != 'f' { // a boolean marks a summary message
		delete(c.of, name)
	}
}

func (c cleaner) redactEach(name string, f func(int, cleaner)) {
	var all []jsontext.Value
	if c.of[name] == nil || json.Unmarshal(c.of[name], &all) != nil {
		return
	}
	for i, v := range all {
		m := membersOfObject(v)
		if m == nil {
			m = map[string]jsontext.Value{}
		}
		f(i, cleaner{m, c.id})
		all[i] = objectOf(m)
	}
	c.of[name] = encodeValue(all)
}

func (c cleaner) redactList(name, kind string) {
	var all []jsontext.Value
	if c.of[name] == nil || json.Unmarshal(c.of[name], &all) != nil {
		return
	}
	for i := range all {
		all[i] = encodeValue(fmt.Sprintf("[redacted:%s-%d]", c.replacementFor(kind), i))
	}
	c.of[name] = encodeValue(all)
}

// redactDiffs redacts file changes.
func (c cleaner) redactDiffs(kind string) {
	c.redactEach("diffs", func(i int, d cleaner) {
		d.keepMembers("file", "patch", "additions", "deletions", "status")
		d.id = fmt.Sprint(i)
		d.redactText("file", kind+"-file")
		d.redactText("patch", kind+"-patch")
	})
}

func textIn(m map[string]jsontext.Value, name string) (s string) {
	_ = json.Unmarshal(m[name], &s) // other values count as no text
	return s
}
