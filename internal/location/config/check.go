package config

import (
	"reflect"
	"slices"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// checker compares a document with the type that it decodes to. It reports unknown keys and removes keys that the
// document's scope may not set.
type checker struct {
	*loader
	doc *document.Document
}

// checkNode checks n against t. above is the last scope that may set the key that holds n.
// It removes the members that the document may not have or that are unknown in a project, and warns of each. It
// descends only into known keys, whose types say what may stand there.
func (c *checker) checkNode(n *document.Node, t reflect.Type, path string, above document.Layer) {
	// Only objects have keys to check; the values themselves are checked when they are decoded.
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind != '{' || t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return
	}
	// A struct declares its keys; a map accepts every key, with values of one type.
	var fields map[string]field
	open, openScope := true, ""
	if t.Kind() == reflect.Struct {
		fields, open, openScope = fieldsOf(t)
	}
	n.Members = slices.DeleteFunc(n.Members, func(m document.Member) bool {
		f, known := fields[m.Key]
		if t.Kind() == reflect.Map {
			f, known = field{typ: t.Elem()}, true
		}
		// An unknown key: in a closed object a warning, and removal from a project's file; in an open one only a
		// hint if it looks misspelled.
		switch {
		case !known && !open:
			message := unknownKeyMessage(m.Key, path, fields)
			c.addWarning(c.doc.FindPosition(m.Offset), WarnUnknown, document.JoinKey(path, m.Key), message)
			return c.doc.Layer == document.LayerProject
		case !known:
			f.scope = openScope
			if near := suggestKey(m.Key, t); near != "" {
				c.addWarning(
					c.doc.FindPosition(m.Offset),
					WarnUnknown,
					document.JoinKey(path, m.Key),
					"is not a configuration key; did you mean "+near+"?",
				)
			}
		}
		// The layer decides: a key that only the user may set is refused in a project's file. The limit holds for
		// the keys below, too.
		may := maxLayer(f.scope, above)
		switch f.typ {
		case reflect.TypeFor[Command]():
			may = c.commandScope(m.Key, m.Value)
		case reflect.TypeFor[ShareMode]():
			if ShareMode(m.Value.Text) == ShareDisabled { // it shares nothing
				may = document.LayerProject
			}
		}
		if c.isRefused(m, document.JoinKey(path, m.Key), may) {
			return true
		}
		// Accepted: warn if it has no effect, then check what is below it.
		if f.unused {
			c.addWarning(
				c.doc.FindPosition(m.Offset),
				WarnUnused,
				document.JoinKey(path, m.Key),
				"is a key of OpenCode that has no effect in cairn",
			)
		}
		if known {
			c.checkNode(m.Value, f.typ, document.JoinKey(path, m.Key), may)
		}
		return false
	})
}

// isRefused reports whether the document may not set a key, which the scopes up to may can, and adds a warning if so.
func (c *checker) isRefused(m document.Member, key string, may document.Layer) bool {
	switch {
	case c.doc.Layer <= may:
		return false
	case may == document.LayerTrusted:
		c.addWarning(c.doc.FindPosition(m.Offset), WarnUntrusted, key, c.doc.UntrustedReason())
		c.withheld = append(c.withheld, m)
		if key == "mcp" {
			c.config.noteUntrustedServers(c.doc.Name, m.Value)
		}
		if key == "hooks" {
			c.config.untrustedHooks = append(c.config.untrustedHooks, m.Value)
		}
	default:
		c.addWarning(
			c.doc.FindPosition(m.Offset),
			WarnIgnored,
			key,
			"is ignored in a project's files: set it in your own configuration",
		)
	}
	return true
}
