package lsp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	queryTime  = 30 * time.Second // of a question, without the start of servers
	maxResults = 500
	maxSymbols = 10 // of a server for a search
)

// errNoServer is OpenCode's text.
var errNoServer error = &tool.Failure{Message: "No LSP server available for this file type."}

// Query is a question about code. Operation is one of those of the tool.
type Query struct {
	Operation string
	Path      string   // absolute, without links
	Position  Position // in UTF-16
	Text      string   // of workspaceSymbol
}

// methods are the requests of the operations. A call hierarchy is prepared first.
var methods = map[string]string{
	"goToDefinition":       "textDocument/definition",
	"findReferences":       "textDocument/references",
	"hover":                "textDocument/hover",
	"documentSymbol":       "textDocument/documentSymbol",
	"workspaceSymbol":      "workspace/symbol",
	"goToImplementation":   "textDocument/implementation",
	"prepareCallHierarchy": "textDocument/prepareCallHierarchy",
	"incomingCalls":        "textDocument/prepareCallHierarchy",
	"outgoingCalls":        "textDocument/prepareCallHierarchy",
}

// Ask puts a question to the servers of a file and returns their results as they are, but with columns in UTF-16. It
// starts servers and waits for them. An error is returned if no server answers.
func (m *Manager) Ask(ctx context.Context, q Query) ([]jsontext.Value, error) {
	errTimeout := errors.New("the language server does not answer")
	ctx, cancel := context.WithTimeoutCause(ctx, initializeTime+queryTime, errTimeout)
	defer cancel()
	// Ask all servers.
	entries := m.group([]string{q.Path})
	if len(entries) == 0 {
		return nil, errNoServer
	}
	type answer struct {
		server string
		result []jsontext.Value
		err    error
	}
	var mu sync.Mutex // guards answers
	var answers []answer
	var all sync.WaitGroup
	for e := range entries {
		all.Go(func() {
			defer m.release(e)
			a := answer{server: e.server.ID}
			var c *client
			if c, a.err = m.await(ctx, e); a.err == nil {
				a.result, a.err = c.ask(ctx, q)
			}
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, a)
		})
	}
	all.Wait()
	// Order the answers by configuration.
	slices.SortFunc(answers, func(a, b answer) int { return compareServers(m.options.Servers, a.server, b.server) })
	var out []jsontext.Value
	var failures []error
	for _, a := range answers {
		out = append(out, a.result...)
		failures = append(failures, a.err)
	}
	// Fail only if no server answered.
	if len(out) == 0 && !slices.Contains(failures, nil) {
		return nil, errors.Join(failures...)
	}
	return out, nil
}

// compareServers orders servers as they are configured.
func compareServers(servers []Server, a, b string) int {
	find := func(id string) int {
		return slices.IndexFunc(servers, func(s Server) bool { return s.ID == id })
	}
	return find(a) - find(b)
}

// FindSymbols asks the servers that run for symbols by name, as OpenCode's /find/symbol does: only types, functions,
// variables and constants, at most ten of each server.
func (m *Manager) FindSymbols(ctx context.Context, text string) []jsontext.Value {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	m.mu.Lock()
	var clients []*client
	for _, e := range m.entries {
		if e.client != nil {
			clients = append(clients, e.client)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(clients, func(a, b *client) int {
		return compareServers(m.options.Servers, a.server.ID, b.server.ID)
	})
	results := make([][]jsontext.Value, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { results[i], _ = c.ask(ctx, Query{Operation: "workspaceSymbol", Text: text}) })
	}
	all.Wait()
	return slices.Concat(results...)
}

// ask puts a question to the server, after it knows the file as it is on disk.
func (c *client) ask(ctx context.Context, q Query) ([]jsontext.Value, error) {
	method := methods[q.Operation]
	if !c.capabilities.methods[method] {
		return nil, errors.New("language server " + c.server.ID + " does not support " + q.Operation)
	}
	// Build the request.
	params := object{}
	var content lines
	switch q.Operation {
	case "workspaceSymbol":
		params["query"] = q.Text
	default:
		text, _, err := readDocument(q.Path)
		if err != nil {
			return nil, err
		}
		content = splitLines(text)
		params["textDocument"] = object{"uri": fileuri.Format(q.Path)}
	}
	if q.Operation == "findReferences" {
		params["context"] = object{"includeDeclaration": true}
	}
	if q.Operation != "workspaceSymbol" && q.Operation != "documentSymbol" {
		params["position"] = content.convert(q.Position, utf16Units, c.capabilities.encoding)
	}
	// Make the file known, and ask.
	var paths []string
	if q.Path != "" {
		paths = []string{q.Path}
	}
	c.send(ctx, paths)
	answer, err := c.conn.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	list := flatten(answer)
	// Follow a call hierarchy: the calls of an item are asked for with the item as the server gave it.
	if q.Operation == "incomingCalls" || q.Operation == "outgoingCalls" {
		if len(list) == 0 {
			return nil, nil
		}
		answer, err = c.conn.call(ctx, "callHierarchy/"+q.Operation, object{"item": list[0]})
		if err != nil {
			return nil, err
		}
		list = flatten(answer)
	}
	if q.Operation == "workspaceSymbol" {
		list = selectSymbols(list)
	}
	return c.convertResults(q.Path, list[:min(len(list), maxResults)]), nil
}

// flatten returns the elements of a list, or the only result.
func flatten(answer jsontext.Value) (list []jsontext.Value) {
	switch answer.Kind() {
	case '[':
		_ = json.Unmarshal(answer, &list, lenient())
		return slices.DeleteFunc(list, func(v jsontext.Value) bool { return v.Kind() == 'n' })
	case 'n', 0:
		return nil
	}
	return []jsontext.Value{answer}
}

// searchedKinds are the kinds of symbols that a search shows: class, enum, interface, function, variable, constant,
// method and struct.
var searchedKinds = []int{5, 6, 10, 11, 12, 13, 14, 23}

func selectSymbols(list []jsontext.Value) (out []jsontext.Value) {
	for _, v := range list {
		var symbol struct {
			Kind int `json:"kind"`
		}
		if json.Unmarshal(v, &symbol, lenient()) == nil && slices.Contains(searchedKinds, symbol.Kind) &&
			len(out) < maxSymbols {
			out = append(out, v)
		}
	}
	return out
}

// convertResults returns results with columns in UTF-16. path is the file of ranges that name none.
func (c *client) convertResults(path string, list []jsontext.Value) []jsontext.Value {
	if c.capabilities.encoding == utf16Units {
		return list
	}
	r := resultConverter{from: c.capabilities.encoding, files: map[string]lines{}}
	for i, v := range list {
		var value any
		if json.Unmarshal(v, &value, lenient()) == nil {
			r.convert(value, path)
			list[i] = encode(value)
		}
	}
	return list
}

// resultConverter converts the positions in results of any form.
type resultConverter struct {
	from  string
	files map[string]lines // read until now
}

// convert changes the positions in value. path is the file that they are in unless an object says another one: uri for
// its members, targetUri for those that begin with target, and from of an incoming call for fromRanges.
func (r resultConverter) convert(value any, path string) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			r.convert(element, path)
		}
	case map[string]any:
		// A position.
		if line, ok := v["line"].(float64); ok {
			if character, ok := v["character"].(float64); ok {
				p := r.read(path).convert(Position{int(line), int(character)}, r.from, utf16Units)
				v["character"] = p.Character
				return
			}
		}
		// The file of each member.
		path = pathOf(v["uri"], path)
		target := pathOf(v["targetUri"], path)
		caller := path
		if from, ok := v["from"].(map[string]any); ok {
			caller = pathOf(from["uri"], path)
		}
		for name, member := range v {
			switch name {
			case "targetRange", "targetSelectionRange":
				r.convert(member, target)
			case "fromRanges":
				r.convert(member, caller)
			case "data": // the server's own
			default:
				r.convert(member, path)
			}
		}
	}
}

// pathOf returns the path of a URI, or the other path if the URI names no file.
func pathOf(uri any, otherwise string) string {
	if text, ok := uri.(string); ok {
		if path, ok := fileuri.Parse(text); ok {
			return path
		}
	}
	return otherwise
}

// read returns the lines of a file, none if it cannot be read.
func (r resultConverter) read(path string) lines {
	if content, ok := r.files[path]; ok {
		return content
	}
	var content lines
	if text, _, err := readDocument(path); err == nil && len(r.files) < maxResults {
		content = splitLines(text)
	}
	r.files[path] = content
	return content
}
