package api

import (
	"context"
	"net/url"
	"strconv"

	"github.com/cairn-dev/cairn/internal/session"
)

// StatsQuery selects what Stats adds up.
type StatsQuery struct {
	Since    int64  `query:"since"`    // milliseconds; 0 from the start
	Until    int64  `query:"until"`    // milliseconds, excluded; 0 to the end
	Project  string `query:"project"`  // the id of a project; "" any
	Timezone string `query:"timezone"` // of the days, such as Europe/Berlin; "" is UTC
	// Messages counts prompts, agents and tools, for which the messages of the time are read.
	Messages bool `query:"messages" enum:"true,false"`
}

// Stats sums up what turns cost. Deleted sessions are part of it.
type Stats struct {
	Since     int64 `json:"since"` // milliseconds; 0 from the start
	Until     int64 `json:"until,omitzero"`
	Sessions  int   `json:"sessions"`
	Subagents int   `json:"subagents"` // of the sessions
	SumStats
	CacheHit float64        `json:"cacheHit"` // the share of the input that came from providers' caches, from 0 to 1
	Models   []ModelStats   `json:"models"`   // most expensive first, as all groups
	Days     []DayStats     `json:"days"`     // oldest first
	Projects []ProjectStats `json:"projects"`
	Trees    []TreeStats    `json:"trees"` // the 50 most expensive
	// MoreTrees sums up the trees that Trees leaves out; nil if it has all.
	MoreTrees *MoreTrees `json:"moreTrees,omitzero"`

	// With StatsQuery.Messages.
	Prompts int          `json:"prompts,omitzero"`
	Agents  []AgentStats `json:"agents,omitempty"` // of turns, without failed attempts and titles
	Tools   []ToolStats  `json:"tools,omitempty"`  // most calls first
}

// SumStats is what some turns cost.
type SumStats struct {
	Turns  int            `json:"turns"`
	Cost   session.USD    `json:"cost"`
	Tokens session.Tokens `json:"tokens"`
}

// ModelStats is the share of a model.
type ModelStats struct {
	Model session.ModelRef `json:"model"`
	SumStats
	CacheHit float64 `json:"cacheHit"`
}

// DayStats is the share of a day.
type DayStats struct {
	Day string `json:"day"` // 2006-01-02
	SumStats
}

// ProjectStats is the share of a project. Deleted sessions are of none.
type ProjectStats struct {
	RecordID  session.RecordID `json:"recordID"` // "" if it is not known
	Name      string           `json:"name,omitzero"`
	Directory string           `json:"directory,omitzero"`
	SumStats
}

// TreeStats is the share of a session with its subagents. Deleted sessions are one tree.
type TreeStats struct {
	SessionID session.ID `json:"sessionID"` // "" for deleted sessions
	Title     string     `json:"title,omitzero"`
	SumStats
}

// MoreTrees is the share of some sessions with their subagents.
type MoreTrees struct {
	Count int `json:"count"`
	SumStats
}

// AgentStats is the share of an agent.
type AgentStats struct {
	Agent string `json:"agent"`
	SumStats
}

// ToolStats is what the calls of a tool came to. Median is the time in milliseconds of those that have ended.
type ToolStats struct {
	Tool       string `json:"tool"`
	Calls      int    `json:"calls"`
	Succeeded  int    `json:"succeeded"`
	Failed     int    `json:"failed"`
	Unfinished int    `json:"unfinished"`
	Median     int64  `json:"median"`
}

// Stats sums up what all sessions cost.
func (c *Client) Stats(ctx context.Context, q StatsQuery) (Stats, error) {
	v := url.Values{}
	for name, n := range map[string]int64{"since": q.Since, "until": q.Until} {
		if n > 0 {
			v.Set(name, strconv.FormatInt(n, 10))
		}
	}
	for name, text := range map[string]string{"project": q.Project, "timezone": q.Timezone} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.Messages {
		v.Set("messages", "true")
	}
	out, err := get[Data[Stats]](ctx, c, apiPath("stats"), v)
	return out.Data, err
}
