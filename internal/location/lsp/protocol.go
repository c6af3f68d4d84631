package lsp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/fileuri"
)

// The parts of LSP 3.17 that are used.

// syncKind is how a server gets changes of documents.
type syncKind int

const (
	syncNone        syncKind = 0
	syncFull        syncKind = 1
	syncIncremental syncKind = 2
)

// capabilities are what a server can do.
type capabilities struct {
	encoding    string
	change      syncKind
	save        bool
	saveText    bool // didSave has the text
	diagnostics bool // it answers textDocument/diagnostic
	identifier  string
	methods     map[string]bool // the requests of queries that it answers
}

// providers are the members of the server's capabilities for the requests of queries.
var providers = map[string]string{
	"textDocument/definition":           "definitionProvider",
	"textDocument/references":           "referencesProvider",
	"textDocument/hover":                "hoverProvider",
	"textDocument/implementation":       "implementationProvider",
	"textDocument/documentSymbol":       "documentSymbolProvider",
	"textDocument/prepareCallHierarchy": "callHierarchyProvider",
	"workspace/symbol":                  "workspaceSymbolProvider",
}

// decodeCapabilities reads the result of initialize.
func decodeCapabilities(result jsontext.Value) (c capabilities, err error) {
	var in struct {
		Capabilities map[string]jsontext.Value `json:"capabilities"`
	}
	if err := json.Unmarshal(result, &in, lenient()); err != nil {
		return c, err
	}
	c = capabilities{encoding: utf16Units, change: syncFull, methods: map[string]bool{}}
	var encoding string
	if json.Unmarshal(in.Capabilities["positionEncoding"], &encoding) == nil &&
		(encoding == utf8Units || encoding == utf32Units) {
		c.encoding = encoding
	}
	c.decodeSync(in.Capabilities["textDocumentSync"])
	if d := in.Capabilities["diagnosticProvider"]; d.Kind() == '{' {
		c.diagnostics, c.identifier = true, decodeIdentifier(d)
	}
	for method, member := range providers {
		v := in.Capabilities[member]
		c.methods[method] = v.Kind() == 't' || v.Kind() == '{'
	}
	return c, nil
}

func decodeIdentifier(options jsontext.Value) string {
	var in struct {
		Identifier string `json:"identifier"`
	}
	_ = json.Unmarshal(options, &in, lenient())
	return in.Identifier
}

// decodeSync reads textDocumentSync: a number, or an object.
func (c *capabilities) decodeSync(value jsontext.Value) {
	switch value.Kind() {
	case '0':
		_ = json.Unmarshal(value, &c.change)
	case '{':
		var in struct {
			Change syncKind       `json:"change"`
			Save   jsontext.Value `json:"save"`
		}
		if json.Unmarshal(value, &in, lenient()) != nil {
			return
		}
		c.change = in.Change
		c.save = in.Save.Kind() == 't' || in.Save.Kind() == '{'
		if in.Save.Kind() == '{' {
			var save struct {
				IncludeText bool `json:"includeText"`
			}
			_ = json.Unmarshal(in.Save, &save, lenient())
			c.saveText = save.IncludeText
		}
	}
}

// object is a JSON object.
type object = map[string]any

// initializeParams returns the parameters of initialize.
func initializeParams(pid int, root string, initialization jsontext.Value) object {
	// What the client is, and what it can do. It applies no edits of servers.
	params := object{
		"processId": pid, "rootUri": fileuri.Format(root), "rootPath": root, "workspaceFolders": workspaceFolders(root),
		"clientInfo": object{"name": "cairn"},
		"capabilities": object{
			"general": object{"positionEncodings": []string{utf16Units, utf8Units, utf32Units}},
			"window":  object{"workDoneProgress": true},
			"workspace": object{
				"configuration": true, "workspaceFolders": true, "applyEdit": false, "symbol": object{},
				"didChangeConfiguration": object{},
				"didChangeWatchedFiles":  object{"dynamicRegistration": true, "relativePatternSupport": true},
				"diagnostics":            object{"refreshSupport": true},
			},
			"textDocument": object{
				"synchronization":    object{"didSave": true},
				"publishDiagnostics": object{"versionSupport": true},
				"diagnostic":         object{"dynamicRegistration": true, "relatedDocumentSupport": true},
				"definition":         object{"linkSupport": false},
				"implementation":     object{"linkSupport": false},
				"references":         object{},
				"hover":              object{"contentFormat": []string{"markdown", "plaintext"}},
				"documentSymbol":     object{"hierarchicalDocumentSymbolSupport": true},
				"callHierarchy":      object{},
			},
		},
	}
	// The user's own options.
	if len(initialization) > 0 {
		params["initializationOptions"] = initialization
	}
	return params
}

func workspaceFolders(root string) []object {
	return []object{{"name": "workspace", "uri": fileuri.Format(root)}}
}

// Kinds of changes of watched files.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)
