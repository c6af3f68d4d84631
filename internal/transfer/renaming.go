package transfer

import (
	"regexp"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// renaming gives the messages of a session, and their items, other ids.
type renaming struct {
	salt string
	// ids are those of messages in another form than ownID, which clients of OpenCode choose.
	ids map[string]bool
}

// ownID matches the ids that foreign.IDs and OpenCode make for messages and their items.
var ownID = regexp.MustCompile(`\b(msg|prt)_[0-9a-f]{12}[0-9A-Za-z]{14}\b`)

// quotedID matches what can be the id of a message in any form.
var quotedID = regexp.MustCompile(`"msg[0-9A-Za-z_.-]*"`)

// newRenaming returns the renaming of messages that were renamed before.
func newRenaming(salt string, messages []session.Message, before []renaming) renaming {
	r := renaming{salt, map[string]bool{}}
	for _, m := range messages {
		id := string(m.Meta().ID)
		if ownID.FindString(id) == id {
			continue
		}
		for _, b := range before {
			id = foreign.Rename(id, b.salt)
		}
		r.ids[id] = true
	}
	return r
}

// apply renames the ids in the JSON of a message.
func (r renaming) apply(text []byte) []byte {
	rename := func(id []byte) []byte { return []byte(foreign.Rename(string(id), r.salt)) }
	text = ownID.ReplaceAllFunc(text, rename)
	if len(r.ids) == 0 {
		return text
	}
	return quotedID.ReplaceAllFunc(text, func(quoted []byte) []byte {
		if id := strings.Trim(string(quoted), `"`); r.ids[id] {
			return foreign.Quote(foreign.Rename(id, r.salt))
		}
		return quoted
	})
}
