package sharetarget

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Item is a part of a shared session. Type is session, message, part, session_diff or model.
type Item struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data"`
}

// findKey returns the key under which the item is stored. The target keeps one session, one session_diff and one model,
// and the messages and parts by their ids.
func (i Item) findKey() (string, error) {
	switch i.Type {
	case "session_diff", "model":
		// The list replaces the earlier one.
		if i.Data.Kind() != '[' {
			return "", fmt.Errorf("the data of a %s is not a list", i.Type)
		}
		return i.Type, nil
	case "session", "message", "part":
		var ids struct {
			ID        string `json:"id"`
			SessionID string `json:"sessionID"`
			MessageID string `json:"messageID"`
		}
		if err := json.Unmarshal(i.Data, &ids); err != nil {
			return "", fmt.Errorf("the data of a %s: %w", i.Type, err)
		}
		switch {
		case ids.ID == "", i.Type != "session" && ids.SessionID == "", i.Type == "part" && ids.MessageID == "":
			return "", fmt.Errorf("a %s lacks an id", i.Type)
		case i.Type == "session":
			return "session", nil
		case i.Type == "message":
			return "message/" + ids.ID, nil
		}
		return "part/" + ids.MessageID + "/" + ids.ID, nil
	}
	return "", fmt.Errorf("the type %q of an item is unknown", i.Type)
}
