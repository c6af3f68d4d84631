// Package usage adds up what turns cost and what sessions did: by day, model, project, tree of sessions, agent and tool.
//
// Costs come from the spend of the store, which outlives its sessions; the project, the tree and the agent of a deleted
// session are not known. Agents, tools and prompts are counted in the messages, which takes longer.
package usage

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Query selects what is added up.
type Query struct {
	Since, Until int64               // milliseconds; 0 without a bound, Until excluded
	Sessions     map[session.ID]bool // only these; nil all
	Zone         *time.Location      // of the days
	Messages     bool                // also read the messages
}

// contains reports whether a time is within the query.
func (q *Query) contains(ms int64) bool { return ms >= q.Since && (q.Until == 0 || ms < q.Until) }

func (q *Query) wants(id session.ID) bool { return q.Sessions == nil || q.Sessions[id] }

// Sum is what some turns cost.
type Sum struct {
	Turns  int
	Cost   session.USD
	Tokens session.Tokens
}

func (s *Sum) add(l *store.Spend) {
	s.Turns++
	s.Cost += l.Cost
	s.Tokens = s.Tokens.Add(l.Tokens)
}

// Day is the share of a day that has one.
type Day struct {
	Day string // 2006-01-02
	Sum
}

// Group is the share of a model, a project, a tree or an agent.
type Group[Key comparable] struct {
	Key Key
	Sum
}

// Tool is what the calls of a tool came to.
type Tool struct {
	Name                                 string
	Calls, Succeeded, Failed, Unfinished int
	Median                               time.Duration // of the work of those that have ended
}

// Report is what was added up. Groups are sorted by cost, the largest first, tools by calls.
type Report struct {
	Sum
	Sessions  int // with a turn
	Subagents int // of these
	Days      []Day
	Models    []Group[session.ModelRef]
	Projects  []Group[session.RecordID] // "" is not known
	Trees     []Group[session.ID]       // by the first session, "" is not known
	// With Query.Messages:
	Prompts int
	Agents  []Group[string] // without cost of titles and failed attempts
	Tools   []Tool
}

// Collect adds up what the query selects.
func Collect(ctx context.Context, v store.Viewer, q Query) (*Report, error) {
	c := &collector{
		query: q, places: map[session.ID]place{}, models: map[session.ModelRef]*Sum{}, projects: map[session.RecordID]*Sum{},
		trees: map[session.ID]*Sum{}, agents: map[string]*Sum{}, tools: map[string]*toolCalls{},
	}
	err := v.View(ctx, func(r store.Reader) error {
		lines, err := r.Spent("", q.Since)
		for i := range lines {
			if l := &lines[i]; err == nil && q.contains(l.Time) && q.wants(l.SessionID) {
				err = c.addSpend(r, l)
			}
		}
		return err
	})
	if err == nil && q.Messages {
		err = c.readMessages(ctx, v)
	}
	if err != nil {
		return nil, err
	}
	return c.report(), nil
}

// place is where a session belongs; zero if it is not there any more.
type place struct {
	project session.RecordID
	root    session.ID // of its tree
}

// collector adds up.
type collector struct {
	query    Query
	total    Report
	places   map[session.ID]place
	models   map[session.ModelRef]*Sum
	projects map[session.RecordID]*Sum
	trees    map[session.ID]*Sum
	agents   map[string]*Sum
	tools    map[string]*toolCalls
}

// addSpend adds a line. Lines are in the order of their times.
func (c *collector) addSpend(r store.Reader, l *store.Spend) error {
	c.total.add(l)
	at, isKnown := c.places[l.SessionID]
	if !isKnown {
		var err error
		if at, err = findPlace(r, l.SessionID); err != nil {
			return err
		}
		c.places[l.SessionID] = at
		c.total.Sessions++
		if at.root != "" && at.root != l.SessionID {
			c.total.Subagents++
		}
	}
	day := time.UnixMilli(l.Time).In(c.query.Zone).Format(time.DateOnly)
	if n := len(c.total.Days); n == 0 || c.total.Days[n-1].Day != day {
		c.total.Days = append(c.total.Days, Day{Day: day})
	}
	c.total.Days[len(c.total.Days)-1].add(l)
	groupOf(c.models, session.ModelRef{ProviderID: l.Model.ProviderID, ID: l.Model.ID}).add(l)
	groupOf(c.projects, at.project).add(l)
	groupOf(c.trees, at.root).add(l)
	return nil
}

// groupOf returns the sum of a key, which it adds.
func groupOf[Key comparable](groups map[Key]*Sum, key Key) *Sum {
	s := groups[key]
	if s == nil {
		s = &Sum{}
		groups[key] = s
	}
	return s
}

// maxDepth bounds the way up to a root: damaged data may have a circle.
const maxDepth = 100

// findPlace returns where a session belongs. A damaged session is as one that is not there.
func findPlace(r store.SessionReader, id session.ID) (at place, err error) {
	for range maxDepth {
		s, ok, err := r.Session(id)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return at, err
		}
		if !ok || err != nil { // the parent of the last one is gone
			return at, nil
		}
		if at.root == "" {
			at.project = s.RecordID
		}
		at.root = id
		if s.ParentID == "" {
			return at, nil
		}
		id = s.ParentID
	}
	return at, nil
}

// report returns what was added up, sorted.
func (c *collector) report() *Report {
	out := c.total
	out.Models, out.Projects, out.Trees = sortGroups(c.models), sortGroups(c.projects), sortGroups(c.trees)
	out.Agents = sortGroups(c.agents)
	for name, calls := range c.tools {
		out.Tools = append(out.Tools, calls.tool(name))
	}
	slices.SortFunc(out.Tools, func(a, b Tool) int { return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Name, b.Name)) })
	return &out
}

// sortGroups returns the groups, the most expensive first.
func sortGroups[Key comparable](groups map[Key]*Sum) []Group[Key] {
	out := make([]Group[Key], 0, len(groups))
	for key, s := range maps.All(groups) {
		out = append(out, Group[Key]{key, *s})
	}
	slices.SortFunc(out, func(a, b Group[Key]) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), b.Turns-a.Turns, cmp.Compare(b.Tokens.Sum(), a.Tokens.Sum()))
	})
	return out
}
