package v1

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

//go:embed unimplemented.json
var unimplementedFile []byte

// listUnimplemented are the operations whose capability is not built yet. They answer like an OpenCode that has none of
// it configured (docs/differences.md). The data file has those whose response is constant.
func (d *dependencies) listUnimplemented() []operation.Operation {
	h := unimplementedHandlers{d}
	// Grouped by capability: workspaces and updates.
	rows := []operation.Operation{
		operation.New("approve POST /experimental/workspace Create a workspace",
			"experimental.workspace.create", h.createWorkspace),
		operation.New("approve POST /experimental/workspace/warp Move a session into or out of a workspace",
			"experimental.workspace.warp", h.warpSession).WithStatuses(http.StatusNotFound),
		operation.New("approve DELETE /experimental/workspace/{id} Remove a workspace",
			"experimental.workspace.remove", h.removeWorkspace),
		operation.New("admin POST /global/upgrade Update the server program", "global.upgrade", h.refuseUpgrade),
	}
	for i := range rows {
		rows[i].Unimplemented = true
	}
	return append(rows, operation.NewConstants(unimplementedFile)...)
}

// Request types.
type (
	body[Body any] struct {
		Body Body `body:"optional"`
	}
)

// Bodies.
type (
	upgradeTarget struct {
		Target string `json:"target"`
	}
	workspaceMove struct {
		ID          *string `json:"id,omitzero"` // nil: out of its workspace
		SessionID   *string `json:"sessionID"`
		CopyChanges bool    `json:"copyChanges,omitzero"`
	}
)

// Responses.
type (
	never         struct{} // of an operation that only fails
	upgradeResult struct {
		Success bool   `json:"success"`
		Version string `json:"version,omitzero"`
		Error   string `json:"error,omitzero"`
	}
)

// unimplementedHandlers answers where the response names something of the request.
type unimplementedHandlers struct{ *dependencies }

func (unimplementedHandlers) createWorkspace(_ context.Context, in body[opencode.WorkspaceType]) (never, error) {
	message := "Unknown workspace adapter: " + in.Body.Type
	return never{}, &statusError{http.StatusBadRequest, newNamedError("WorkspaceCreateError", message)}
}

// warpSession moves a session into a workspace, which does not exist, or out of one: no session is in one.
func (unimplementedHandlers) warpSession(_ context.Context, in body[workspaceMove]) (operation.None, error) {
	if in.Body.SessionID == nil {
		return operation.None{}, missingMember("sessionID")
	}
	if in.Body.ID != nil {
		return operation.None{}, session.NotFound("workspace", *in.Body.ID)
	}
	return operation.None{}, nil
}

func (unimplementedHandlers) removeWorkspace(_ context.Context, in struct {
	ID string `path:"id" id:"wrk"`
},
) (never, error) {
	return never{}, session.NotFound("workspace", in.ID)
}

// Validate requires the members that OpenCode requires.
func (b *upgradeTarget) Validate() error { return requireMembers("target", b.Target) }

// refuseUpgrade validates the request like OpenCode and answers that a person updates cairn.
func (unimplementedHandlers) refuseUpgrade(_ context.Context, _ struct {
	Body upgradeTarget `body:"required"`
},
) (upgradeResult, error) {
	return upgradeResult{Error: "a running server does not update cairn; run cairn upgrade on its machine"}, nil
}
