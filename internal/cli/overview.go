package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// overviewFlags are those of OpenCode's stats.
type overviewFlags struct {
	days, tools, models int
	project             string
	given               func(name string) bool
}

// take reads the number behind --models, which may stand apart from it or not be there.
func (f *overviewFlags) take(args []string) error {
	if len(args) == 0 {
		return nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || !f.given("models") {
		return usagef("%q is no option of stats", line(args[0], 60))
	}
	f.models = n
	return nil
}

// overview is what OpenCode's stats tells: of the sessions that are here, whoever paid for them, by what they say
// themselves. The ledger tells what was paid.
type overview struct {
	sessions, messages, days int
	cost                     session.USD
	tokens                   session.Tokens
	each                     []int64 // tokens of each session
	tools                    map[string]int
	models                   map[string]*modelUse
}

type modelUse struct {
	messages int
	tokens   session.Tokens
	cost     session.USD
}

// survey reads all sessions that the flags mean, one page of messages at a time.
func (a *app) survey(ctx context.Context, c *api.Client, f *overviewFlags) (*overview, error) {
	q := api.SessionQuery{Archived: true}
	if f.given("project") {
		if q.Project = session.ProjectID(f.project); f.project == "" {
			here, err := c.Location(ctx)
			if err != nil {
				return nil, err
			}
			q.Project = here.Project.ID
		}
	}
	list, err := sessions(ctx, c, q, math.MaxInt)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	since := int64(0)
	switch {
	case !f.given("days"):
	case f.days == 0:
		since = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()).UnixMilli()
	default:
		since = now.AddDate(0, 0, -f.days).UnixMilli()
	}
	o := &overview{tools: map[string]int{}, models: map[string]*modelUse{}}
	oldest := now.UnixMilli()
	for _, s := range list {
		if s.Time.Updated < since {
			continue
		}
		oldest = min(oldest, s.Time.Created)
		if err := o.add(ctx, c, s); err != nil {
			return nil, err
		}
	}
	switch {
	case f.given("days"):
		o.days = max(f.days, 1)
	case o.sessions > 0:
		o.days = max(1, int(math.Ceil(float64(now.UnixMilli()-oldest)/float64(24*time.Hour/time.Millisecond))))
	}
	return o, nil
}

func (o *overview) add(ctx context.Context, c *api.Client, s *session.Session) error {
	o.sessions++
	o.cost += s.Cost
	o.tokens = o.tokens.Add(s.Tokens)
	o.each = append(o.each, s.Tokens.Sum())
	q := api.MessageQuery{Oldest: true, Limit: 200}
	for {
		page, err := c.Messages(ctx, s.ID, q)
		if err != nil {
			return err
		}
		for _, m := range page.Data {
			o.count(m)
		}
		if len(page.Data) < q.Limit || page.Cursor.Next == "" {
			return nil
		}
		q.Cursor = page.Cursor.Next
	}
}

func (o *overview) count(m session.Message) {
	switch m := m.(type) {
	case *session.User, *session.Synthetic:
		o.messages++
	case *session.Assistant:
		o.messages++
		use := o.models[m.Model.String()]
		if use == nil {
			use = &modelUse{}
			o.models[m.Model.String()] = use
		}
		use.messages++
		if m.Cost != nil && m.Tokens != nil {
			use.cost += *m.Cost
			use.tokens = use.tokens.Add(*m.Tokens)
		}
		for _, t := range m.Tools() {
			o.tools[t.Name]++
		}
	}
}

// showOverview prints OpenCode's boxes.
func (a *app) showOverview(o *overview, f *overviewFlags) {
	b := box{a.out}
	b.open(23, "OVERVIEW")
	b.row("Sessions", thousands(int64(o.sessions)))
	b.row("Messages", thousands(int64(o.messages)))
	b.row("Days", fmt.Sprint(o.days))
	b.close()
	mean, median := int64(0), int64(0)
	if o.sessions > 0 {
		slices.Sort(o.each)
		mean = int64(math.Round(float64(o.tokens.Sum()) / float64(o.sessions)))
		half := len(o.each) / 2
		if median = o.each[half]; len(o.each)%2 == 0 {
			median = (o.each[half-1] + o.each[half]) / 2
		}
	}
	perDay := 0.0
	if o.days > 0 {
		perDay = dollars(o.cost) / float64(o.days)
	}
	b.open(20, "COST & TOKENS")
	b.row("Total Cost", fmt.Sprintf("$%.2f", dollars(o.cost)))
	b.row("Avg Cost/Day", fmt.Sprintf("$%.2f", perDay))
	b.row("Avg Tokens/Session", short(mean))
	b.row("Median Tokens/Session", short(median))
	b.row("Input", short(o.tokens.Input))
	b.row("Output", short(o.tokens.Output))
	b.row("Cache Read", short(o.tokens.Cache.Read))
	b.row("Cache Write", short(o.tokens.Cache.Write))
	b.close()
	b.out.printf("\n") // as there
	if f.given("models") {
		b.models(o.models, f.models)
	}
	b.tools(o.tools, f)
}

func dollars(u session.USD) float64 { return float64(u) / float64(session.Dollar) }

// short is a number of tokens in OpenCode's form.
func short(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fK", float64(n)/1e3)
	default:
		return fmt.Sprint(n)
	}
}

// box prints rows of labels and values in a frame.
type box struct{ out *stream }

const boxWidth = 56

// open begins a box; its title stands where OpenCode has it.
func (b box) open(left int, title string) {
	b.out.printf("┌%s┐\n", strings.Repeat("─", boxWidth))
	b.out.printf("│%s%s%s│\n", strings.Repeat(" ", left), title, strings.Repeat(" ", boxWidth-left-len(title)))
	b.rule()
}

func (b box) rule()  { b.out.printf("├%s┤\n", strings.Repeat("─", boxWidth)) }
func (b box) close() { b.out.printf("└%s┘\n\n", strings.Repeat("─", boxWidth)) }

func (b box) row(label, value string) {
	b.out.printf("│%s%s%s │\n", label, strings.Repeat(" ", max(0, boxWidth-1-len(label)-len(value))), value)
}

func (b box) models(all map[string]*modelUse, most int) {
	names := slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		return cmp.Or(cmp.Compare(all[y].messages, all[x].messages), cmp.Compare(x, y))
	})
	if most > 0 {
		names = names[:min(most, len(names))]
	}
	if len(names) == 0 {
		return
	}
	b.open(22, "MODEL USAGE")
	for i, name := range names {
		if i > 0 {
			b.rule()
		}
		use := all[name]
		b.row(" "+line(name, boxWidth-2), "")
		b.row("  Messages", thousands(int64(use.messages)))
		b.row("  Input Tokens", short(use.tokens.Input))
		b.row("  Output Tokens", short(use.tokens.Output+use.tokens.Reasoning))
		b.row("  Cache Read", short(use.tokens.Cache.Read))
		b.row("  Cache Write", short(use.tokens.Cache.Write))
		b.row("  Cost", fmt.Sprintf("$%.4f", dollars(use.cost)))
	}
	b.close()
}

func (b box) tools(all map[string]int, f *overviewFlags) {
	names := slices.SortedFunc(maps.Keys(all), func(x, y string) int { return cmp.Or(cmp.Compare(all[y], all[x]), cmp.Compare(x, y)) })
	total, most := 0, 1
	for _, n := range all {
		total, most = total+n, max(most, n)
	}
	if f.given("tools") {
		names = names[:max(0, min(f.tools, len(names)))]
	}
	if len(names) == 0 {
		return
	}
	b.open(22, "TOOL USAGE")
	for _, name := range names {
		n := all[name]
		bar := strings.Repeat("█", max(1, n*20/most))
		text := fmt.Sprintf(" %-18s %s%s %3d (%4.1f%%)", line(name, 18), bar, strings.Repeat(" ", 20-len([]rune(bar))), n, 100*float64(n)/float64(total))
		b.out.printf("│%s%s│\n", text, strings.Repeat(" ", max(0, boxWidth-len([]rune(text)))))
	}
	b.close()
}
