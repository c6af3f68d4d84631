package v2

import "github.com/cairn-dev/cairn/internal/server/operation"

// sessionPath is the path of one session.
const sessionPath = "/api/session/{sessionID}"

// listUnimplemented are the operations of OpenCode's document whose capability is not built. They answer with 501, so
// that no client mistakes the answer for that of a missing session. cairn's document leaves them out.
func listUnimplemented() (out []operation.Operation) {
	add := func(message string, routes ...string) {
		for _, route := range routes {
			out = append(out, operation.NewUnimplemented(route, message))
		}
	}
	add("providers are connected with cairn auth login or PUT /auth/{providerID}",
		"read GET /api/integration/{integrationID}", "admin POST /api/integration/{integrationID}/connect/key",
		"admin POST /api/integration/{integrationID}/connect/oauth", "read GET /api/integration/attempt/{attemptID}",
		"admin DELETE /api/integration/attempt/{attemptID}", "admin POST /api/integration/attempt/{attemptID}/complete",
		"admin PATCH /api/credential/{credentialID}", "admin DELETE /api/credential/{credentialID}")
	add("files are served by GET /file/content", "read GET /api/fs/read/{path...}")
	add(
		"terminals are served below /pty",
		"read GET /api/pty",
		"admin POST /api/pty",
		"read GET /api/pty/{ptyID}",
		"admin PUT /api/pty/{ptyID}",
		"admin DELETE /api/pty/{ptyID}",
		"admin GET /api/pty/{ptyID}/connect",
		"admin POST /api/pty/{ptyID}/connect-token",
	)
	return out
}
