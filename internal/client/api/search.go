package api

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/cairn-dev/cairn/internal/session"
)

// SearchQuery selects texts of sessions. Only Text is necessary.
type SearchQuery struct {
	Text      string     `query:"text" required:"true"`
	Project   string     `query:"project"` // the id of a project; "" any
	SessionID session.ID `query:"session"`
	Kind      string     `query:"kind" enum:"title,prompt,answer,tool,shell,summary"`
	Role      string     `query:"role" enum:"user,assistant"`
	Tool      string     `query:"tool"`
	Agent     string     `query:"agent"`
	Failed    bool       `query:"failed" enum:"true,false"`
	Since     int64      `query:"since"` // milliseconds
	Limit     int64      `query:"limit" default:"20" min:"1" max:"100"`
	Offset    int64      `query:"offset"`
}

// SearchResult is a part of what a search found, the best first.
type SearchResult struct {
	Hits     []SearchHit `json:"hits"`
	More     bool        `json:"more"`     // others follow
	Complete bool        `json:"complete"` // false while the index is behind the sessions: there may be more to find
	// Problem is why the index is behind and stays so, "" if it only has to catch up.
	Problem string `json:"problem,omitzero"`
	// Trimmed means that the texts that were indexed first are not found: the index has reached its bound.
	Trimmed bool `json:"trimmed,omitzero"`
}

// SearchHit is a text that was found.
type SearchHit struct {
	SessionID session.ID        `json:"sessionID"`
	Title     string            `json:"title"` // of the session
	Directory string            `json:"directory"`
	MessageID session.MessageID `json:"messageID,omitzero"` // "" for a title
	PartID    session.PartID    `json:"partID,omitzero"`
	Kind      string            `json:"kind"`
	Tool      string            `json:"tool,omitzero"`
	Agent     string            `json:"agent,omitzero"`
	Failed    bool              `json:"failed,omitzero"`
	Time      int64             `json:"time"` // milliseconds
	Snippet   Snippet           `json:"snippet"`
}

// Snippet is the part of a text that shows why it was found, as one line.
type Snippet struct {
	Text    string   `json:"text"`
	Matches [][2]int `json:"matches"` // bytes of Text, from and to
}

// Parts returns the text in pieces, each with whether it is a match. Matches that are not in the text are left out.
func (s Snippet) Parts() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		last := 0
		for _, m := range s.Matches {
			if m[0] < last || m[1] < m[0] || m[1] > len(s.Text) { // of a server that lies
				break
			}
			if !yield(s.Text[last:m[0]], false) || !yield(s.Text[m[0]:m[1]], true) {
				return
			}
			last = m[1]
		}
		yield(s.Text[last:], false)
	}
}

// Search returns what of all sessions fits the query.
func (c *Client) Search(ctx context.Context, q SearchQuery) (SearchResult, error) {
	v := url.Values{"text": {q.Text}}
	for name, value := range map[string]string{
		"project": q.Project, "session": string(q.SessionID), "kind": q.Kind, "role": q.Role, "tool": q.Tool, "agent": q.Agent,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, n := range map[string]int64{"since": q.Since, "limit": q.Limit, "offset": q.Offset} {
		if n != 0 {
			v.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if q.Failed {
		v.Set("failed", "true")
	}
	out, err := get[Data[SearchResult]](ctx, c, apiPath("search"), v)
	return out.Data, err
}
