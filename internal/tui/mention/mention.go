// Package mention finds what a prompt names with an @, and lists what the word at the cursor may name.
package mention

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/attach"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// resourcePrefix begins the name and the URI of an MCP server's resource: mcp:SERVER:URI.
const resourcePrefix = "mcp:"

// MaxCandidates bounds a List.
const MaxCandidates = 8

// List holds the candidates for the word at the cursor.
type List struct {
	Word  string
	Items []dialog.Entry // an ID is what takes the place of the word

	at int
}

// IsOpen reports whether there is anything to choose.
func (l *List) IsOpen() bool { return len(l.Items) > 0 }

// Add adds candidates for a word, unless another one is at the cursor by now.
func (l *List) Add(word string, items []dialog.Entry) {
	if word == l.Word {
		l.Items = append(l.Items, items...)
		l.Items = l.Items[:min(len(l.Items), MaxCandidates)]
	}
}

// Move selects a candidate so many lines below.
func (l *List) Move(lines int) { l.at = min(max(l.at+lines, 0), len(l.Items)-1) }

// SelectedID returns the text with which the selected candidate replaces the word.
func (l *List) SelectedID() string { return l.Items[l.at].ID }

// RenderLines returns the candidates.
func (l *List) RenderLines(th style.Theme, width int) []string {
	var lines []string
	for i, it := range l.Items {
		st := th.Muted
		if i == l.at {
			st = th.Selected
		}
		lines = append(lines, st.Render(dialog.Clip("  "+it.Label, width)))
	}
	return lines
}

// FindAgents returns the agents that a text names.
func FindAgents(text string, all []session.Agent) []session.AgentMention {
	var out []session.AgentMention
	for _, w := range strings.Fields(text) {
		name, ok := strings.CutPrefix(w, "@")
		if ok && slices.ContainsFunc(all, func(a session.Agent) bool { return a.ID == name }) {
			out = append(out, session.AgentMention{Name: name})
		}
	}
	return out
}

// ListAgents returns the candidates among the agents whose names begin with the prefix.
func ListAgents(all []session.Agent, prefix string) (items []dialog.Entry) {
	for _, a := range all {
		if !a.Hidden && strings.HasPrefix(a.ID, prefix) && len(items) < MaxCandidates/2 {
			items = append(items, dialog.Entry{ID: "@" + a.ID + " ", Label: "@" + a.ID + "  agent"})
		}
	}
	return items
}

// ListResources returns the candidates among the resources of MCP servers: those whose name, server or URI has the text.
// URIs with blanks cannot be named.
func ListResources(all []api.MCPResource, text string) (items []dialog.Entry) {
	text = strings.ToLower(text)
	for _, r := range all {
		name := resourcePrefix + r.Server + ":" + r.URI
		if strings.ContainsFunc(name, unicode.IsSpace) || len(items) == MaxCandidates/2 ||
			!strings.Contains(strings.ToLower(name+" "+r.Name), text) {
			continue
		}
		label := "@" + terminal.FirstLine(name, 300) + "  " + terminal.FirstLine(r.Name, 100)
		items = append(items, dialog.Entry{ID: "@" + name + " ", Label: label})
	}
	return items
}

// IsResource reports whether a name is that of an MCP server's resource.
func IsResource(name string) bool { return strings.HasPrefix(name, resourcePrefix) }

// ExplainResource returns why the name of a resource names none of those that the MCP servers have; "" if it does.
func ExplainResource(all []api.MCPResource, name string) string {
	server, uri, ok := strings.Cut(strings.TrimPrefix(name, resourcePrefix), ":")
	isOfServer := func(r api.MCPResource) bool { return strings.HasPrefix(name, resourcePrefix+r.Server+":") }
	server, uri = terminal.FirstLine(server, 60), terminal.FirstLine(uri, 200)
	switch {
	case !ok || uri == "":
		return "a resource is named @" + resourcePrefix + "SERVER:URI"
	case slices.ContainsFunc(all, func(r api.MCPResource) bool { return resourcePrefix+r.Server+":"+r.URI == name }):
		return ""
	case slices.ContainsFunc(all, isOfServer):
		return fmt.Sprintf("the MCP server %q has no resource %s", server, uri)
	default:
		return fmt.Sprintf("no connected MCP server %q has resources; /mcp lists the servers", server)
	}
}

// IsNamed reports whether FindFiles finds the file of a prompt again by its name in the text. One whose content is in
// its address is not: there may be no file of that name, or another one.
func IsNamed(text string, f session.File) bool {
	named := FindFiles(text, map[string]bool{NameOf(f): true}, "")
	return (strings.HasPrefix(f.URI, "file:") || strings.HasPrefix(f.URI, resourcePrefix)) &&
		slices.ContainsFunc(named, func(n session.File) bool { return n.Name == f.Name })
}

// NameOf returns the name of a file without the lines that a prompt wants of it.
func NameOf(f session.File) string {
	if !strings.Contains(f.URI, "?start=") {
		return f.Name
	}
	name, _ := attach.CutLines(f.Name)
	return name
}

// FindUnnamed returns the files of a prompt that its text does not name, for another prompt.
func FindUnnamed(text string, files []session.File) (out []session.File) {
	for _, f := range files {
		if !IsNamed(text, f) {
			out = append(out, session.File{URI: f.URI, Mime: f.Mime, Name: f.Name, Description: f.Description})
		}
	}
	return out
}

// DescribeFiles names files in a line.
func DescribeFiles(files []session.File) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = describe.FileLabel(f)
	}
	return strings.Join(names, ", ")
}

// FindFiles returns the files that a text names, of those in offered, whose names may have blanks. Lines may follow a
// name, such as #10-20. Relative names begin in dir.
func FindFiles(text string, offered map[string]bool, dir string) []session.File {
	var out []session.File
	for i, r := range text {
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		if r != '@' || i > 0 && !unicode.IsSpace(before) {
			continue
		}
		name, lines := findName(text[i+1:], offered)
		if name == "" {
			continue
		}
		if strings.HasPrefix(name, resourcePrefix) {
			out = append(out, session.File{URI: name, Name: name})
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		u := url.URL{Scheme: "file", Path: path, RawQuery: lines.Query()}
		f := session.File{URI: u.String(), Name: name + lines.String()}
		if lines.First > 0 {
			f.Mime = "text/plain" // only text has lines
		}
		out = append(out, f)
	}
	return out
}

// wordEnd has the characters that end a name.
const wordEnd = " \t\n,;:?!)"

// findName returns the longest offered name that the text begins with, before a blank or a sign of punctuation, and the
// lines that follow it.
func findName(text string, offered map[string]bool) (longest string, lines attach.Lines) {
	for name := range offered {
		rest, ok := strings.CutPrefix(text, name)
		if !ok || len(name) <= len(longest) {
			continue
		}
		var of attach.Lines
		if strings.HasPrefix(rest, "#") {
			end := strings.IndexAny(rest, wordEnd)
			if end < 0 {
				end = len(rest)
			}
			if _, of = attach.CutLines(name + strings.TrimRight(rest[:end], ".")); of.First > 0 {
				rest = ""
			}
		}
		rest = strings.TrimPrefix(rest, ".") // of a sentence
		if rest == "" || strings.ContainsRune(wordEnd, rune(rest[0])) {
			longest, lines = name, of
		}
	}
	return longest, lines
}
