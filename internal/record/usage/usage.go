// Package usage adds up what turns cost and what sessions did: by day, model, project, tree of sessions, agent and tool.
//
// Costs come from the spend of the store, which outlives its sessions; the project, the tree and the agent of a deleted
// session are not known, only whether it was one of a subagent. Agents, tools and prompts are counted in the messages, which takes longer.
package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Query selects what is added up.
type Query struct {
	Since, Until int64               // milliseconds; 0 without a bound, Until excluded
	Sessions     map[session.ID]bool // only these; nil all
	Zone         *time.Location      // of the days
	Prompts      bool                // also count the prompts
	Messages     bool                // also read the messages: prompts, agents and tools
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
	Prompts   int                       // with Query.Prompts or Query.Messages
	// With Query.Messages:
	Agents []Group[string] // without cost of titles and failed attempts
	Tools  []Tool
}

// Collect adds up what the query selects. The spend is read in one transaction, all else in short ones, so that none keeps the
// store from emptying its log; a session that is deleted meanwhile may count in part.
func Collect(ctx context.Context, v store.Viewer, q Query) (*Report, error) {
	c := &collector{
		query: q, origins: map[session.ID]sessionOrigin{}, models: map[session.ModelRef]*Sum{}, projects: map[session.RecordID]*Sum{},
		trees: map[session.ID]*Sum{}, agents: map[string]*Sum{}, tools: map[string]*toolCalls{},
	}
	// Add up what turns cost.
	lines, err := store.Query(ctx, v, func(r store.Reader) ([]store.Spend, error) { return r.Spent("", q.Since) })
	if err != nil {
		return nil, err
	}
	lines = slices.DeleteFunc(lines, func(l store.Spend) bool { return !q.contains(l.Time) || !q.wants(l.SessionID) })
	for some := range slices.Chunk(lines, linesAtOnce) {
		if err := c.findOrigins(ctx, v, some); err != nil {
			return nil, err
		}
		for i := range some {
			c.addSpend(&some[i])
		}
	}
	// Count what the messages tell.
	if q.Prompts || q.Messages {
		if err := c.readMessages(ctx, v); err != nil {
			return nil, err
		}
	}
	return c.report(), nil
}

// linesAtOnce is the number of lines of the spend whose sessions are looked up in one transaction.
const linesAtOnce = 500

// sessionOrigin is where the costs of a session count. Project and root are zero if the session does not exist any more
// and no session of its tree does.
type sessionOrigin struct {
	project    session.RecordID
	root       session.ID // the first session of the tree
	isSubagent bool
}

// collector adds up.
type collector struct {
	query    Query
	total    Report
	origins  map[session.ID]sessionOrigin // of the sessions that have a turn
	parents  map[session.ID]session.ID    // of the deleted sessions; nil until they are read
	models   map[session.ModelRef]*Sum
	projects map[session.RecordID]*Sum
	trees    map[session.ID]*Sum
	agents   map[string]*Sum
	tools    map[string]*toolCalls
}

// findOrigins looks up the sessions of the lines that are not known yet, and counts them.
func (c *collector) findOrigins(ctx context.Context, v store.Viewer, lines []store.Spend) error {
	return v.View(ctx, func(r store.Reader) error {
		for i := range lines {
			id := lines[i].SessionID
			if _, isKnown := c.origins[id]; isKnown {
				continue
			}
			origin, err := c.findOrigin(r, id)
			if err != nil {
				return err
			}
			c.origins[id] = origin
			c.total.Sessions++
			if origin.isSubagent {
				c.total.Subagents++
			}
		}
		return nil
	})
}

// addSpend adds a line of a session whose origin is known. Lines are in the order of their times.
func (c *collector) addSpend(l *store.Spend) {
	c.total.add(l)
	day := time.UnixMilli(l.Time).In(c.query.Zone).Format(time.DateOnly)
	if n := len(c.total.Days); n == 0 || c.total.Days[n-1].Day != day {
		c.total.Days = append(c.total.Days, Day{Day: day})
	}
	c.total.Days[len(c.total.Days)-1].add(l)
	origin := c.origins[l.SessionID]
	groupOf(c.models, session.ModelRef{ProviderID: l.Model.ProviderID, ID: l.Model.ID}).add(l)
	groupOf(c.projects, origin.project).add(l)
	groupOf(c.trees, origin.root).add(l)
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

// findOrigin returns where a session counts. A deleted one of a subagent counts in the tree that it was part of if the tree
// exists. A damaged session counts as one that does not exist.
func (c *collector) findOrigin(r store.Reader, id session.ID) (origin sessionOrigin, err error) {
	for next, seen := id, map[session.ID]bool{"": true}; !seen[next]; {
		seen[next] = true
		s, ok, err := r.Session(next)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return origin, err
		}
		if ok && err == nil {
			root, err := store.FindRoot(r, s.ParentID)
			origin.project, origin.root = s.RecordID, cmp.Or(root, next)
			origin.isSubagent = origin.root != id
			return origin, err
		}
		// It is gone: go on with its parent, which the event of its deletion names.
		if err := c.readDeletions(r); err != nil {
			return origin, err
		}
		next = c.parents[next]
		origin.isSubagent = origin.isSubagent || next != ""
	}
	return origin, nil
}

// deletionsAtOnce is the number of deletions that are read by one query.
const deletionsAtOnce = 500

// readDeletions reads once which parents the deleted sessions had. Deletions that cannot be read are left out.
func (c *collector) readDeletions(r store.Reader) error {
	if c.parents != nil {
		return nil
	}
	c.parents = map[session.ID]session.ID{}
	for after, more := int64(0), true; more; {
		rows, err := r.Events("", after, deletionsAtOnce, session.KindDeleted)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		for _, row := range rows {
			after = row.Position
			var d session.Deleted
			if json.Unmarshal(row.Data, &d) == nil && d.Info.ParentID != "" {
				c.parents[row.SessionID] = d.Info.ParentID
			}
		}
		more = len(rows) > 0
	}
	return nil
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
	for key, s := range groups {
		out = append(out, Group[Key]{key, *s})
	}
	slices.SortFunc(out, func(a, b Group[Key]) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), b.Turns-a.Turns, cmp.Compare(b.Tokens.Sum(), a.Tokens.Sum()))
	})
	return out
}
