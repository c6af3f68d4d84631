package config

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/location/config/upgrade"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:generate sh -c "go run ../../.. config schema > ../../../docs/config.schema.json"

// SchemaURL is the address of the published schema, for "$schema" of a configuration.
const SchemaURL = "https://raw.githubusercontent.com/cairn-dev/cairn/main/docs/config.schema.json"

type schema map[string]any

// scalars are the types that accept more or fewer values than their Go kind.
var scalars = map[reflect.Type]schema{
	reflect.TypeFor[ModelName]():   {"type": "string", "pattern": "^[^/]+/.+$"},
	reflect.TypeFor[Mode]():        {"enum": []string{"primary", "subagent", "all"}},
	reflect.TypeFor[SandboxMode](): {"enum": []string{"off", "writes", "strict"}},
	reflect.TypeFor[Color]():       {"type": "string", "pattern": color.String()},
	reflect.TypeFor[Count]():       {"type": "integer", "minimum": 1},
	reflect.TypeFor[Size]():        {"type": "integer", "minimum": 1, "maximum": maxSize},
	reflect.TypeFor[Natural]():     {"type": "integer", "minimum": 0},
	reflect.TypeFor[Duration](): {
		"anyOf":       []schema{{"type": "integer", "minimum": 1}, {"type": "string"}, {"const": false}},
		"description": "milliseconds, a time such as \"90s\" or \"2m\", or false for no limit",
	},
	reflect.TypeFor[Network]():        {"type": "string"},
	reflect.TypeFor[MirrorFolder]():   {"type": []string{"boolean", "string"}},
	reflect.TypeFor[Age]():            {"type": "string"},
	reflect.TypeFor[SearchSize]():     {"type": []string{"boolean", "integer"}, "minimum": 1},
	reflect.TypeFor[CommandLine]():    {"anyOf": []schema{{"type": "string"}, {"type": "array", "items": schema{"type": "string"}}}},
	reflect.TypeFor[auth.Secret]():    {"type": "string"},
	reflect.TypeFor[session.USD]():    {"type": "number", "minimum": 0},
	reflect.TypeFor[jsontext.Value](): {},
}

// BuildSchema returns the JSON Schema of a configuration file in all spellings, generated from the types that decode
// it.
func BuildSchema() ([]byte, error) {
	// Begin with the types, and add what the loader reads beside them.
	root := schemaOf(reflect.TypeFor[Settings]())
	keys := root["properties"].(schema)
	addRules(keys)
	keys["mode"] = withDescription(
		schema{"type": "object", "additionalProperties": schema{"$ref": "#/$defs/agent"}},
		"older form of primary agents",
	)
	for _, name := range []string{"formatter", "lsp"} {
		keys[name] = schema{"anyOf": []schema{{"type": "boolean"}, keys[name].(schema)}}
	}
	keys[document.VersionKey] = schema{
		"type": "integer", "minimum": 1, "maximum": upgrade.Current,
		"description": "version of the configuration for which this file is written; 1 without it",
	}
	keys["sandbox"].(schema)["properties"].(schema)["enabled"] = schema{
		"type": "boolean", "description": "in files of version 1, older form of the mode: true is strict, false is off",
	}
	keys["sandbox"] = schema{"anyOf": []schema{scalars[reflect.TypeFor[SandboxMode]()], keys["sandbox"].(schema)}}
	// Agents have a definition of their own, for agent and mode.
	agent := schemaOf(reflect.TypeFor[Agent]())
	addRules(agent["properties"].(schema))
	addSpellings(agent["properties"].(schema), document.OtherSpellings["agent.*"])
	keys["agent"].(schema)["additionalProperties"] = schema{"$ref": "#/$defs/agent"}
	compaction := keys["compaction"].(schema)["properties"].(schema)
	addSpellings(compaction, document.OtherSpellings["compaction"])
	compaction["preserve_recent_tokens"] = schema{"type": "integer", "minimum": 0}
	// Permit V2's shapes where V1 has the key.
	for name, shape := range map[string]schema{
		"mcp":      {"properties": schema{"servers": schema{"type": "object"}}},
		"provider": {"additionalProperties": schema{"type": "object"}},
		"skills":   {"type": []string{"object", "array"}},
	} {
		for k, v := range shape { // V2's shapes, beside V1's
			keys[name].(schema)[k] = v
		}
	}
	// Rules and other names of keys come last, because they need the finished keys.
	for _, f := range valueRules {
		f.addTo(root, strings.Split(f.path, "."))
	}
	addSpellings(keys, document.OtherSpellings[""])
	// Add the header and the definitions.
	root["$schema"], root["$id"], root["title"] = "https://json-schema.org/draft/2020-12/schema", SchemaURL,
		"The configuration of cairn"
	root["$defs"] = schema{"agent": agent, "rules": rulesSchema()}
	return json.Marshal(root, json.Deterministic(true), jsontext.Multiline(true), jsontext.WithIndent("  "))
}

// addSpellings adds the other names of keys.
func addSpellings(keys schema, names map[string]string) {
	for other, name := range names {
		if same, ok := keys[name].(schema); ok {
			keys[other] = same
		}
	}
}

// addTo adds the rule to the schema of the value at the path, if that value has a schema.
func (f valueRule) addTo(s schema, path []string) {
	if len(path) == 0 {
		for k, v := range f.toSchema() {
			if k != "type" || s["properties"] == nil {
				s[k] = v
			}
		}
		if s["anyOf"] != nil || s["enum"] != nil {
			delete(s, "type")
		}
		return
	}
	keys, _ := s["properties"].(schema)
	next, ok := keys[path[0]].(schema)
	if path[0] == "*" {
		if next, ok = s["additionalProperties"].(schema); !ok {
			next, ok = s["items"].(schema)
		}
	}
	if ok {
		f.addTo(next, path[1:])
	}
}

// addRules adds permission rules, which are not merged and therefore not fields of Settings.
func addRules(keys schema) {
	keys["permission"] = withDescription(
		schema{"$ref": "#/$defs/rules"},
		"permission rules; the last matching rule decides",
	)
	keys["tools"] = withDescription(
		schema{"type": "object", "additionalProperties": schema{"type": "boolean"}},
		"older form of permissions: tool name to true or false",
	)
}

func rulesSchema() schema {
	effect := schema{"enum": []session.Effect{session.Allow, session.Ask, session.Deny}}
	byPattern := schema{"type": "object", "additionalProperties": effect}
	rule := schema{
		"type": "object", "required": []string{"action", "effect"},
		"properties": schema{
			"action":   schema{"type": "string"},
			"resource": schema{"type": "string"},
			"effect":   effect,
		},
	}
	return schema{"anyOf": []schema{
		effect,
		{"type": "object", "additionalProperties": schema{"anyOf": []schema{effect, byPattern}}},
		{"type": "array", "items": rule},
	}}
}

func withDescription(s schema, text string) schema {
	if text != "" {
		s["description"] = text
	}
	return s
}

// schemaOf is the schema of what a type reads.
func schemaOf(t reflect.Type) schema {
	// Some types have a form of their own, of which the caller gets a copy to change.
	if s, ok := scalars[t]; ok {
		out := schema{}
		for k, v := range s {
			out[k] = v
		}
		return out
	}
	// Other types by their kind.
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		fields, open, _ := fieldsOf(t)
		keys := schema{}
		for name, f := range fields {
			keys[name] = withDescription(schemaOf(f.typ), f.doc)
		}
		return schema{"type": "object", "properties": keys, "additionalProperties": open}
	default:
		return schema{} // anything: the loader checks it
	}
}

// toSchema returns the part of the JSON Schema that the rule stands for.
// Each kind that the rule accepts is one alternative.
func (f valueRule) toSchema() schema {
	var any []schema
	for _, kind := range f.kinds {
		switch kind {
		case '"':
			text := schema{"type": "string"}
			if f.words != nil {
				text = schema{"enum": f.words}
			}
			any = append(any, text)
		case 't':
			any = append(any, schema{"type": "boolean"})
		case 'f':
			any = append(any, schema{"const": false})
		case '{':
			any = append(any, schema{"type": "object"})
		case '[':
			any = append(any, schema{"type": "array"})
		case '0':
			number := schema{"type": "number"}
			if f.whole {
				number["type"] = "integer"
			}
			if f.whole || f.price {
				number["minimum"] = 0
			}
			any = append(any, number)
		}
	}
	// A single alternative needs no anyOf.
	if len(any) == 1 {
		return any[0]
	}
	return schema{"anyOf": any}
}
