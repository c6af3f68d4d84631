package describe

import (
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// MaxFamily bounds the sessions of the project among which the family is searched.
const MaxFamily = 10_000

// FamilyNode is a session among its forks and the sessions that its calls started.
type FamilyNode struct {
	ID       session.ID        `json:"id"`
	Title    string            `json:"title"`
	Before   session.MessageID `json:"before,omitzero"` // of a fork: the first message that was not copied
	Updated  int64             `json:"updated"`
	Forks    []*FamilyNode     `json:"forks,omitempty"`
	Children []*FamilyNode     `json:"children,omitempty"` // that its calls started

	archived bool
}

// NewFamily returns the tree that s is in.
func NewFamily(all []*session.Session, s *session.Session) *FamilyNode {
	// Index the sessions; all need not contain s.
	byID := map[session.ID]*session.Session{s.ID: s}
	for _, o := range all {
		byID[o.ID] = o
	}
	// A fork belongs below its origin, or below its parent if the origin is unknown.
	parent := func(o *session.Session) *session.Session {
		if o.Fork != nil && byID[o.Fork.From] != nil {
			return byID[o.Fork.From]
		}
		return byID[o.ParentID]
	}
	nodes := map[session.ID]*FamilyNode{}
	for id, o := range byID {
		nodes[id] = &FamilyNode{ID: id, Title: o.Title, Updated: o.Time.Updated, archived: o.Time.Archived != 0}
		if o.Fork != nil {
			nodes[id].Before = o.Fork.Before
		}
	}
	// Attach the nodes in the order of creation, so that siblings have it, too.
	ordered := append(slices.Clone(all), s)
	slices.SortFunc(ordered, func(a, b *session.Session) int {
		return cmp.Or(cmp.Compare(a.Time.Created, b.Time.Created), cmp.Compare(a.ID, b.ID))
	})
	for _, o := range slices.CompactFunc(ordered, func(a, b *session.Session) bool { return a.ID == b.ID }) {
		switch p := parent(o); {
		case p == nil:
		case o.Fork != nil:
			nodes[p.ID].Forks = append(nodes[p.ID].Forks, nodes[o.ID])
		default:
			nodes[p.ID].Children = append(nodes[p.ID].Children, nodes[o.ID])
		}
	}
	// Climb to the root. The loop is bounded, because stored links may form a cycle.
	root := byID[s.ID]
	for range byID { // a chain has no more links than there are sessions
		up := parent(root)
		if up == nil {
			break
		}
		root = up
	}
	return nodes[root.ID]
}

// FamilyQuery selects the sessions among which the family of s is searched.
func FamilyQuery(s *session.Session) api.SessionQuery {
	if s.RecordID != "" {
		return api.SessionQuery{Project: session.ProjectID(s.RecordID), Archived: true}
	}
	return api.SessionQuery{Project: s.ProjectID, Archived: true}
}

// FormatTitle returns the title in one line, with a mark if the session is archived.
func (n *FamilyNode) FormatTitle() string {
	if n.archived {
		return terminal.FirstLine(n.Title, 60) + " (archived)"
	}
	return terminal.FirstLine(n.Title, 60)
}

// Walk calls f for the node and those below it, from top to bottom. branch draws the lines of the tree before a node.
func (n *FamilyNode) Walk(f func(n *FamilyNode, branch string)) { n.walk(f, "", "") }

func (n *FamilyNode) walk(f func(n *FamilyNode, branch string), first, rest string) {
	f(n, first)
	below := append(slices.Clone(n.Children), n.Forks...)
	for i, child := range below {
		first, next := "├─ ", "│  "
		if i == len(below)-1 {
			first, next = "└─ ", "   "
		}
		if slices.Contains(n.Forks, child) {
			first += "fork "
		}
		child.walk(f, rest+first, rest+next)
	}
}
