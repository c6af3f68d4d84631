package mcp

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// MissingKey is the key of the source of the system context that names the servers whose tools a turn lacks.
const MissingKey = "core/mcp-servers"

// missingServer is a server whose tools the current turn lacks. Its tools join at a later turn.
type missingServer struct {
	Server string `json:"server"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitzero"`
	// isRecalled reports that the state is the last one of the process before: this one has not ended its first attempt.
	isRecalled bool
}

// maxReason bounds the reason of a missing server in the system context, in bytes.
const maxReason = 300

// String returns what a model or a person reads about the server.
func (m missingServer) String() string {
	name := "The MCP server " + m.Server
	switch m.Status {
	case Connecting:
		return name + " is still connecting. Its tools join at the next turn."
	case Failed:
		return name + " failed: " + m.Reason
	case NeedsAuth, NeedsClientRegistration:
		return name + " is not connected: " + m.Reason
	case Untrusted:
		return name + " is not trusted: " + m.Reason
	case Disabled:
		return name + " is disabled."
	default:
		return name + " has connected since this turn began. Its tools join at the next turn."
	}
}

// describeUnknown says why a tool is unknown whose name begins like those of a server of the location; "" if the servers
// are not the reason.
func (s *Set) describeUnknown(name string) string {
	var found *State
	for _, one := range s.States() {
		prefix := toolPrefix(one.Name)
		if strings.HasPrefix(name, prefix) && (found == nil || len(prefix) > len(toolPrefix(found.Name))) {
			found = &one
		}
	}
	if found == nil {
		return ""
	}
	hasTool := slices.ContainsFunc(found.Tools, func(t ToolInfo) bool { return t.Name == name })
	if found.Status == Connected && !hasTool {
		return ""
	}
	one := missingServer{Server: found.Name, Status: found.Status, Reason: session.ClipText(found.Error, maxReason)}
	return one.String()
}

// noteMissing records which enabled servers are not connected. The reason of a server stays as it was noted first while
// its status is the same, so that a changing error text does not change the system context of each turn. mu is held.
func (t *Tools) noteMissing() {
	var now []missingServer
	for _, s := range t.set.list() {
		s.mu.Lock()
		one := missingServer{Server: s.name, Status: s.status, Reason: session.ClipText(s.problem, maxReason)}
		if s.status == Connecting && s.cached.Status != "" { // it failed in the process before
			one.Status, one.Reason, one.isRecalled = s.cached.Status, s.cached.Problem, true
		}
		isThere := s.status == Connected || s.status == Disabled || s.isExpected
		s.mu.Unlock()
		if isThere || !slices.Contains(t.names, s.name) {
			continue
		}
		isSame := func(m missingServer) bool {
			return m.Server == one.Server && m.Status == one.Status && (one.isRecalled || !m.isRecalled)
		}
		if i := slices.IndexFunc(t.missing, isSame); i >= 0 {
			one = t.missing[i]
		}
		now = append(now, one)
	}
	t.missing = now
}

// Context returns the source of the system context that names the enabled servers that were not connected at the last
// Sync, with the reasons. It is empty if all were.
func (t *Tools) Context() systemcontext.Context {
	t.mu.Lock()
	missing := t.missing
	t.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	return systemcontext.Context{systemcontext.Make(systemcontext.Spec[[]missingServer]{
		Key: MissingKey, Value: missing,
		Baseline: func(l []missingServer) string {
			return "The tools of these MCP servers are not available now:\n\n" + joinMissing(l)
		},
		Update: func(_, l []missingServer) string {
			return "The MCP servers whose tools are not available have changed. Now they are:\n\n" + joinMissing(l)
		},
		Removal: func([]missingServer) string { return "All enabled MCP servers are connected now." },
		Parts:   listMissing,
	})}
}

// listMissing returns the parts of the text: one for all servers that are connecting, and one for each other one.
func listMissing(list []missingServer) (parts []systemcontext.SourcePart) {
	var connecting []string
	for _, m := range list {
		if m.Status == Connecting {
			connecting = append(connecting, m.Server)
			continue
		}
		parts = append(parts, systemcontext.SourcePart{Name: m.Server, Text: m.String()})
	}
	switch names := strings.Join(connecting, ", "); len(connecting) {
	case 0:
		return parts
	case 1:
		parts = append(parts, systemcontext.SourcePart{Name: names, Text: missingServer{Server: names, Status: Connecting}.String()})
	default:
		text := "The MCP servers " + names + " are still connecting. Their tools join at the next turn."
		parts = append(parts, systemcontext.SourcePart{Name: names, Text: text})
	}
	return parts
}

func joinMissing(list []missingServer) string {
	var lines []string
	for _, p := range listMissing(list) {
		lines = append(lines, p.Text)
	}
	return strings.Join(lines, "\n\n")
}

// DescribeMissing returns what a person reads about the servers that a turn lacked, of the source of MissingKey.
func DescribeMissing(d systemcontext.SourceDescription) (notes []string) {
	if d.State == systemcontext.StateRemoved {
		return []string{"MCP servers have connected since this turn began; their tools join at the next turn"}
	}
	for _, p := range d.Parts {
		notes = append(notes, "this turn lacks tools: "+p.Text)
	}
	return notes
}
