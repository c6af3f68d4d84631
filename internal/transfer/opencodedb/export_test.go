package opencodedb

import (
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodev1"
)

// ConvertRow reads a row of session_message alone.
func ConvertRow(kind string, data []byte) foreign.Session {
	c := &converter{Builder: opencodev1.NewBuilder("ses_1"), id: "ses_1", ids: foreign.NewIDs(foreign.OpenCode, "ses_1")}
	o, reason := foreign.ParseObject(data)
	c.addRow(message{Object: o, row: "msg_1", kind: kind}, reason)
	return c.Done()
}
