package api

import "github.com/cairn-dev/cairn/internal/session"

// SessionStats is what OpenCode 2.0 adds up of sessions.
type SessionStats struct {
	Range      StatsRange      `json:"range"`
	Sessions   int             `json:"sessions"`
	Subagents  int             `json:"subagents"`
	Prompts    int             `json:"prompts"`
	Steps      int             `json:"steps"`
	Tokens     session.Tokens  `json:"tokens"`
	Cost       session.USD     `json:"cost"`
	Tools      ToolsStats      `json:"tools"`
	ActiveDays int             `json:"activeDays"`
	Streak     int             `json:"streak"` // days in a row with a step, up to the newest one of the range
	Activity   []ActivityStats `json:"activity"`
	Models     []StepStats     `json:"models"`
}

// StatsRange is a range of times in milliseconds.
type StatsRange struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// The modes of ToolsStats.
const (
	ToolsNone    = "none"
	ToolsSummary = "summary"
	ToolsDetail  = "detail"
)

// ToolsStats is what the calls of tools came to: nothing, the sum, or each tool too.
type ToolsStats struct {
	Mode   string      `json:"mode"`
	Totals *ToolTotals `json:"totals,omitzero"`
	Usage  []ToolUsage `json:"usage,omitzero"`
}

// ToolTotals are the outcomes of calls.
type ToolTotals struct {
	Calls      int `json:"calls"`
	Succeeded  int `json:"succeeded"`
	Failed     int `json:"failed"`
	Unfinished int `json:"unfinished"`
}

// ToolUsage is what the calls of one tool came to. DurationP50 is in milliseconds.
type ToolUsage struct {
	Name string `json:"name"`
	ToolTotals
	DurationP50 int64 `json:"durationP50,omitzero"`
}

// ActivityStats are the steps of a day.
type ActivityStats struct {
	Date  string `json:"date"` // 2006-01-02
	Steps int    `json:"steps"`
}

// StepStats is the share of a model.
type StepStats struct {
	Model  session.ModelRef `json:"model"`
	Steps  int              `json:"steps"`
	Tokens session.Tokens   `json:"tokens"`
	Cost   session.USD      `json:"cost"`
}
