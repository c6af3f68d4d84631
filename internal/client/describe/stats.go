package describe

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// StatsGroups are what WriteStats can show by, in the order of its help.
func StatsGroups() []string { return []string{"day", "model", "project", "tree", "agent", "tool"} }

// WriteStats writes the sum, then a table by each group: one of StatsGroups. Days have a chart of bars, unless bar is "".
func WriteStats(out *terminal.Stream, s api.Stats, bar string, groups ...string) {
	// The sum of everything.
	cost := FormatCost(s.Cost, s.Tokens)
	if s.Tokens.Unpriced > 0 {
		cost = "cost " + cost
	}
	out.Printf("%s, %s, %s tokens, %s\n", terminal.FormatPlural(s.Sessions, "session"), terminal.FormatPlural(s.Turns, "turn"),
		terminal.FormatCount(s.Tokens.Sum()), cost)
	// The tables. A project, and a tree of sessions, that is not known any more has a row, too.
	for _, group := range groups {
		switch group {
		case "day":
			writeDays(out, s.Days, bar)
		case "model":
			writeModels(out, s.Models)
		case "project":
			rows := make([]sumRow, len(s.Projects))
			for i, p := range s.Projects {
				rows[i] = sumRow{cmp.Or(p.Name, p.Directory, string(p.RecordID), "(not known)"), p.SumStats}
			}
			writeSums(out, "PROJECT", rows)
		case "tree":
			rows := make([]sumRow, len(s.Trees))
			for i, t := range s.Trees {
				rows[i] = sumRow{cmp.Or(strings.TrimSpace(string(t.SessionID)+"  "+terminal.FirstLine(t.Title, 50)), "(deleted)"), t.SumStats}
			}
			if more := s.MoreTrees; more != nil {
				rows = append(rows, sumRow{fmt.Sprintf("… %d more", more.Count), more.SumStats})
			}
			writeSums(out, "SESSION WITH ITS SUBAGENTS", rows)
		case "agent":
			rows := make([]sumRow, len(s.Agents))
			for i, a := range s.Agents {
				rows[i] = sumRow{a.Agent, a.SumStats}
			}
			writeSums(out, "AGENT", rows)
		case "tool":
			writeTools(out, s.Tools)
		}
	}
}

// writeModels writes the shares of models. Tokens written to the cache are input, reasoning is output.
func writeModels(out *terminal.Stream, models []api.ModelStats) {
	if len(models) == 0 {
		return
	}
	out.Printf("\n")
	t := terminal.NewTable(out, "MODEL", "TURNS", "IN", "CACHED", "HIT", "OUT", "COST")
	t.Right = t.Head[1:]
	for _, m := range models {
		t.AddRow(
			terminal.FirstLine(m.Model.String(), 80),
			terminal.FormatCount(int64(m.Turns)),
			terminal.FormatCount(m.Tokens.Input+m.Tokens.Cache.Write),
			terminal.FormatCount(m.Tokens.Cache.Read),
			cmp.Or(FormatCacheHit(m.Tokens), "-"),
			terminal.FormatCount(m.Tokens.Output+m.Tokens.Reasoning),
			FormatCost(m.Cost, m.Tokens),
		)
	}
	t.Print()
}

// chartWidth is the length of the longest bar.
const chartWidth = 24

// writeDays writes the shares of days with a bar each: of the cost, or of the tokens if nothing has a price.
func writeDays(out *terminal.Stream, days []api.DayStats, bar string) {
	if len(days) == 0 {
		return
	}
	// Find the longest bar.
	weigh := func(d api.DayStats) float64 { return float64(d.Cost) }
	var most float64
	for range 2 {
		for _, d := range days {
			most = max(most, weigh(d))
		}
		if most > 0 {
			break
		}
		weigh = func(d api.DayStats) float64 { return float64(d.Tokens.Sum()) }
	}
	// Write a row for each day.
	out.Printf("\n")
	t := terminal.NewTable(out, "DAY", "TURNS", "TOKENS", "COST", "")
	t.Right = t.Head[1:4]
	for _, d := range days {
		t.AddRow(terminal.FirstLine(d.Day, 20), terminal.FormatCount(int64(d.Turns)), terminal.FormatCount(d.Tokens.Sum()),
			FormatCost(d.Cost, d.Tokens), strings.Repeat(bar, int(chartWidth*weigh(d)/max(most, 1)+0.5)))
	}
	t.Print()
}

// sumRow is a line of a table of sums.
type sumRow struct {
	name string
	api.SumStats
}

func writeSums(out *terminal.Stream, head string, rows []sumRow) {
	if len(rows) == 0 {
		return
	}
	out.Printf("\n")
	t := terminal.NewTable(out, head, "TURNS", "TOKENS", "COST")
	t.Right = t.Head[1:]
	for _, r := range rows {
		t.AddRow(terminal.FirstLine(r.name, 90), terminal.FormatCount(int64(r.Turns)), terminal.FormatCount(r.Tokens.Sum()),
			FormatCost(r.Cost, r.Tokens))
	}
	t.Print()
}

func writeTools(out *terminal.Stream, tools []api.ToolStats) {
	if len(tools) == 0 {
		return
	}
	out.Printf("\n")
	t := terminal.NewTable(out, "TOOL", "CALLS", "FAILED", "UNFINISHED", "MEDIAN")
	t.Right = t.Head[1:]
	for _, u := range tools {
		t.AddRow(terminal.FirstLine(u.Tool, 60), terminal.FormatCount(int64(u.Calls)), terminal.FormatCount(int64(u.Failed)),
			terminal.FormatCount(int64(u.Unfinished)), (time.Duration(u.Median) * time.Millisecond).String())
	}
	t.Print()
}
