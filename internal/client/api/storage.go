package api

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/session"
)

// PruneRequest says which sessions are deleted: those that a bound excludes, the ones that were not changed for longest. Without a
// bound those of the configuration hold.
type PruneRequest struct {
	Age      int64  `json:"age,omitzero"`      // milliseconds since the last change
	Sessions int    `json:"sessions,omitzero"` // of each project
	Bytes    int64  `json:"bytes,omitzero"`    // of the messages of each project
	Project  string `json:"project,omitzero"`  // the id of a project; "" all
	DryRun   bool   `json:"dryRun,omitzero"`   // delete nothing
}

// PruneResult is what was deleted, or would be.
type PruneResult struct {
	Sessions []PrunedSession `json:"sessions"`
	DryRun   bool            `json:"dryRun"`
	Kept     int             `json:"kept"` // sessions that stay, without subagents
}

// PrunedSession is a session that is deleted with its subagents.
type PrunedSession struct {
	SessionID session.ID `json:"sessionID"`
	Title     string     `json:"title"`
	Directory string     `json:"directory"`
	Updated   int64      `json:"updated"`        // milliseconds
	Bytes     int64      `json:"bytes,omitzero"` // of its messages, if they were counted
	Reason    string     `json:"reason"`
	Error     string     `json:"error,omitzero"` // why it was not deleted
}

// VacuumRequest asks for free space to be given back to the disk.
type VacuumRequest struct {
	DryRun bool `json:"dryRun,omitzero"`
}

// VacuumResult is the size of the sessions' database before and after, and what of it was free, in bytes.
type VacuumResult struct {
	Before int64 `json:"before"`
	Free   int64 `json:"free"`
	After  int64 `json:"after"`
}

// Prune deletes old sessions.
func (c *Client) Prune(ctx context.Context, r PruneRequest) (PruneResult, error) {
	var out Data[PruneResult]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("storage", "prune"), in: r, out: &out})
	return out.Data, err
}

// Vacuum gives free space of the sessions' database back to the disk.
func (c *Client) Vacuum(ctx context.Context, r VacuumRequest) (VacuumResult, error) {
	var out Data[VacuumResult]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("storage", "vacuum"), in: r, out: &out})
	return out.Data, err
}
