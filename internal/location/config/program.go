package config

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Formatters are formatters by name. Nil runs none; an empty map runs the built-in ones.
type Formatters map[string]Formatter

// Formatter changes a built-in formatter or defines one.
type Formatter struct {
	Disabled    bool              `json:"disabled"`
	Command     []string          `json:"command" doc:"program and arguments; $FILE is the path of the file"`
	Extensions  []string          `json:"extensions" doc:"of file names, such as .go"`
	Environment map[string]string `json:"environment"`
}

// LanguageServers are language servers by name. Nil runs none; an empty map runs the built-in ones.
type LanguageServers map[string]LanguageServer

// LanguageServer changes a built-in language server or defines one.
type LanguageServer struct {
	Disabled       bool              `json:"disabled"`
	Command        []string          `json:"command" doc:"program and arguments"`
	Extensions     []string          `json:"extensions" doc:"of file names, such as .go"`
	Env            map[string]string `json:"env"`
	Initialization jsontext.Value    `json:"initialization" doc:"options of the request initialize"`
}

// UnmarshalJSONFrom reads an object, true or false.
func (f *Formatters) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	m, err := readSwitch[Formatter](dec)
	*f = m
	return err
}

// UnmarshalJSONFrom reads an object, true or false.
func (s *LanguageServers) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	m, err := readSwitch[LanguageServer](dec)
	*s = m
	return err
}

// readSwitch reads members by name; true is an empty map, and false nil.
func readSwitch[T any](dec *jsontext.Decoder) (m map[string]T, err error) {
	switch dec.PeekKind() {
	case '{':
		m = map[string]T{}
		return m, json.UnmarshalDecode(dec, &m)
	case 't':
		m = map[string]T{}
	}
	return m, dec.SkipValue()
}
