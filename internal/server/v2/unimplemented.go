package v2

import (
	_ "embed"

	"github.com/cairn-dev/cairn/internal/server/operation"
)

// sessionPath is the path of one session.
const sessionPath = "/api/session/{sessionID}"

//go:embed unimplemented.json
var unimplementedFile []byte

// listUnimplemented are the operations of OpenCode's document whose capability is not built. They answer with 501, so
// that no client mistakes the answer for that of a missing session. cairn's document leaves them out.
func listUnimplemented() []operation.Operation { return operation.NewConstants(unimplementedFile) }
