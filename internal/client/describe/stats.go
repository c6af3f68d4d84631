package describe

import (
	"cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// WriteStats writes the sum, then a table by model and one by day.
func WriteStats(out *terminal.Stream, s api.Stats) {
	cost := FormatCost(s.Cost, s.Tokens)
	if s.Tokens.Unpriced > 0 {
		cost = "cost " + cost
	}
	out.Printf(
		"%s, %s, %s tokens, %s\n",
		terminal.FormatPlural(s.Sessions, "session"),
		terminal.FormatPlural(s.Turns, "turn"),
		terminal.FormatCount(s.Tokens.Sum()),
		cost,
	)
	// By model. Tokens written to the cache are input, reasoning is output.
	if len(s.Models) > 0 {
		out.Printf("\n")
		t := terminal.NewTable(out, "MODEL", "TURNS", "IN", "CACHED", "HIT", "OUT", "COST")
		t.Right = t.Head[1:]
		for _, m := range s.Models {
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
	// By day, if there is more than one.
	if len(s.Days) > 1 {
		out.Printf("\n")
		t := terminal.NewTable(out, "DAY", "TURNS", "TOKENS", "COST")
		t.Right = t.Head[1:]
		for _, d := range s.Days {
			t.AddRow(
				terminal.FirstLine(d.Day, 20),
				terminal.FormatCount(int64(d.Turns)),
				terminal.FormatCount(d.Tokens.Sum()),
				FormatCost(d.Cost, d.Tokens),
			)
		}
		t.Print()
	}
}
