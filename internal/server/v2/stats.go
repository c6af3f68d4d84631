package v2

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/usage"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// statsHandlers add up what sessions cost and did.
type statsHandlers struct{ *dependencies }

// sum adds up the costs of all sessions, including deleted ones.
func (h statsHandlers) sum(ctx context.Context, in api.StatsQuery) (api.Data[api.Stats], error) {
	// Add up.
	var empty api.Data[api.Stats]
	zone, err := parseZone(in.Timezone)
	if err != nil {
		return empty, err
	}
	report, err := h.collect(ctx, in.Project, usage.Query{Since: in.Since, Until: in.Until, Zone: zone, Messages: in.Messages})
	if err != nil {
		return empty, err
	}
	// Return the sum and its groups.
	out := api.Stats{
		Since: in.Since, Until: in.Until, Sessions: report.Sessions, Subagents: report.Subagents, SumStats: api.SumStats(report.Sum),
		Models: []api.ModelStats{}, Days: []api.DayStats{}, Projects: []api.ProjectStats{}, Trees: []api.TreeStats{},
		Prompts: report.Prompts,
	}
	out.CacheHit, _ = report.Tokens.CacheShare()
	for _, g := range report.Models {
		hit, _ := g.Tokens.CacheShare()
		out.Models = append(out.Models, api.ModelStats{Model: g.Key, SumStats: api.SumStats(g.Sum), CacheHit: hit})
	}
	for _, d := range report.Days {
		out.Days = append(out.Days, api.DayStats{Day: d.Day, SumStats: api.SumStats(d.Sum)})
	}
	for _, g := range report.Agents {
		out.Agents = append(out.Agents, api.AgentStats{Agent: g.Key, SumStats: api.SumStats(g.Sum)})
	}
	for _, t := range report.Tools {
		out.Tools = append(out.Tools, api.ToolStats{
			Tool: t.Name, Calls: t.Calls, Succeeded: t.Succeeded, Failed: t.Failed, Unfinished: t.Unfinished,
			Median: t.Median.Milliseconds(),
		})
	}
	// Projects and sessions are shown with their names.
	err = h.Store.View(ctx, func(rd store.Reader) (err error) {
		if out.Projects, err = nameProjects(rd, report.Projects); err == nil {
			shown := min(len(report.Trees), maxTrees)
			out.Trees, err = nameTrees(rd, report.Trees[:shown])
			out.MoreTrees = sumTrees(report.Trees[shown:])
		}
		return err
	})
	return newData(out), err
}

// collect adds up what a query selects. The zone of the query is that of the days.
func (h statsHandlers) collect(ctx context.Context, project string, q usage.Query) (*usage.Report, error) {
	if project != "" {
		ids, err := listProjectSessions(ctx, h.Store, project)
		if err != nil {
			return nil, err
		}
		q.Sessions = map[session.ID]bool{}
		for _, id := range ids {
			q.Sessions[id] = true
		}
	}
	return usage.Collect(ctx, h.Store, q)
}

// parseZone returns the time zone with a name; "" is UTC.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, httpio.NewInvalid("query", "timezone", "timezone must be a name such as Europe/Berlin, got %q", name)
	}
	return zone, nil
}

// listProjectSessions returns the sessions of a project: of the record with the id, or of what OpenCode calls a project. A
// project without a record and without a session is not found, but for "global", which always exists.
func listProjectSessions(ctx context.Context, s store.Viewer, project string) ([]session.ID, error) {
	// List the sessions.
	q, records := store.SessionQuery{ProjectID: session.ProjectID(project), Archived: true}, store.ProjectQuery{}
	if isRecordID(q.ProjectID) {
		q = store.SessionQuery{RecordID: session.RecordID(project), Archived: true}
		records.ID = q.RecordID
	}
	ids := []session.ID{}
	err := store.VisitSessions(ctx, s, q, func(row store.RawSession) error { ids = append(ids, row.ID); return nil })
	if err != nil || len(ids) > 0 || project == "global" {
		return ids, err
	}
	// Without one, find out whether the project exists.
	known, err := store.Query(ctx, s, func(r store.Reader) ([]store.Project, error) { return r.Projects(records) })
	isKnown := slices.ContainsFunc(known, func(p store.Project) bool { return p.ID == q.RecordID || p.ProjectID == q.ProjectID })
	if err == nil && !isKnown {
		err = session.NotFound("project", project)
	}
	return ids, err
}

func nameProjects(rd store.Reader, groups []usage.Group[session.RecordID]) ([]api.ProjectStats, error) {
	records, err := rd.Projects(store.ProjectQuery{})
	byID := map[session.RecordID]store.Project{}
	for _, p := range records {
		byID[p.ID] = p
	}
	out := []api.ProjectStats{}
	for _, g := range groups {
		p := byID[g.Key]
		out = append(out, api.ProjectStats{RecordID: g.Key, Name: p.Name, Directory: p.Path, SumStats: api.SumStats(g.Sum)})
	}
	return out, err
}

// maxTrees bounds the trees that are shown.
const maxTrees = 50

func nameTrees(rd store.Reader, groups []usage.Group[session.ID]) ([]api.TreeStats, error) {
	out := []api.TreeStats{}
	for _, g := range groups {
		s, ok, err := rd.Session(g.Key)
		if err != nil {
			return nil, err
		}
		tree := api.TreeStats{SessionID: g.Key, SumStats: api.SumStats(g.Sum)}
		if ok {
			tree.Title = s.Title
		}
		out = append(out, tree)
	}
	return out, nil
}

// sumTrees returns the sum of the trees that are not shown, nil without any.
func sumTrees(groups []usage.Group[session.ID]) *api.MoreTrees {
	if len(groups) == 0 {
		return nil
	}
	more := &api.MoreTrees{Count: len(groups)}
	for _, g := range groups {
		more.Turns += g.Turns
		more.Cost += g.Cost
		more.Tokens = more.Tokens.Add(g.Tokens)
	}
	return more
}

// sessionStatsIn is a request of OpenCode 2.0. From and To are dates in the time zone, times of RFC 3339 or milliseconds.
type sessionStatsIn struct {
	From     string `query:"from"`
	To       string `query:"to"`
	Project  string `query:"project"`
	Timezone string `query:"timezone"`
	Tools    string `query:"tools" enum:"none,summary,detail"`
}

// sumForOpenCode adds up as OpenCode 2.0 does.
func (h statsHandlers) sumForOpenCode(ctx context.Context, in sessionStatsIn) (api.Data[api.SessionStats], error) {
	// Read the range.
	var empty api.Data[api.SessionStats]
	zone, err := parseZone(in.Timezone)
	if err != nil {
		return empty, err
	}
	from, err := parseTime("from", in.From, zone)
	if err != nil {
		return empty, err
	}
	to, err := parseTime("to", in.To, zone)
	if err != nil {
		return empty, err
	}
	// Add up. Without tools only the prompts of the messages are read.
	hasTools := in.Tools != "" && in.Tools != api.ToolsNone
	report, err := h.collect(ctx, in.Project, usage.Query{
		Since: from, Until: to, Zone: zone, Prompts: true, Messages: hasTools,
	})
	if err != nil {
		return empty, err
	}
	// Return the sum in OpenCode's form.
	if to == 0 {
		to = time.Now().UnixMilli()
	}
	out := api.SessionStats{
		Range: api.StatsRange{From: from, To: to}, Sessions: report.Sessions - report.Subagents, Subagents: report.Subagents,
		Prompts: report.Prompts, Steps: report.Turns, Tokens: withoutTotal(report.Tokens), Cost: report.Cost,
		Tools: countTools(report.Tools, in.Tools), ActiveDays: len(report.Days), Streak: countStreak(report.Days),
		Activity: []api.ActivityStats{}, Models: []api.StepStats{},
	}
	for _, d := range report.Days {
		out.Activity = append(out.Activity, api.ActivityStats{Date: d.Day, Steps: d.Turns})
	}
	for _, g := range report.Models {
		out.Models = append(out.Models, api.StepStats{Model: g.Key, Steps: g.Turns, Tokens: withoutTotal(g.Tokens), Cost: g.Cost})
	}
	return newData(out), nil
}

// withoutTotal removes what OpenCode does not know.
func withoutTotal(t session.Tokens) session.Tokens {
	t.Total, t.Unpriced = 0, 0
	return t
}

// parseTime reads a time in milliseconds, as one of RFC 3339 or as a date in the zone; "" is 0.
func parseTime(name, text string, zone *time.Location) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, httpio.NewInvalid("query", name, "%s must be a date such as 2026-11-01, a time or milliseconds, got %q", name, text)
}

// countTools returns the calls of tools in a mode.
func countTools(tools []usage.Tool, mode string) api.ToolsStats {
	if mode == "" || mode == api.ToolsNone {
		return api.ToolsStats{Mode: api.ToolsNone}
	}
	out := api.ToolsStats{Mode: mode, Totals: &api.ToolTotals{}}
	if mode == api.ToolsDetail {
		out.Usage = []api.ToolUsage{}
	}
	for _, t := range tools {
		totals := api.ToolTotals{Calls: t.Calls, Succeeded: t.Succeeded, Failed: t.Failed, Unfinished: t.Unfinished}
		out.Totals.Calls += totals.Calls
		out.Totals.Succeeded += totals.Succeeded
		out.Totals.Failed += totals.Failed
		out.Totals.Unfinished += totals.Unfinished
		if mode == api.ToolsDetail {
			out.Usage = append(out.Usage, api.ToolUsage{Name: t.Name, ToolTotals: totals, DurationP50: t.Median.Milliseconds()})
		}
	}
	return out
}

// countStreak returns how many of the newest days follow one another.
func countStreak(days []usage.Day) (n int) {
	for i := len(days) - 1; i >= 0; i-- {
		day, _ := time.Parse(time.DateOnly, days[i].Day)
		if i < len(days)-1 && day.AddDate(0, 0, 1).Format(time.DateOnly) != days[i+1].Day {
			break
		}
		n++
	}
	return n
}
