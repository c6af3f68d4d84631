package session

import (
	"crypto/sha256"
	"encoding/hex"
)

// TaskID returns the id of the session in which a call of the tool task begins its work.
func TaskID(part PartID) ID { return ID(deriveID(PrefixSession, part)) }

// TaskPromptID returns the id of the prompt with which a call of the tool task begins or continues its work.
func TaskPromptID(part PartID) MessageID { return MessageID(deriveID(PrefixMessage, part)) }

// deriveID returns an id with the prefix that follows from the part's. It has the part's time, in the order of its
// kind, if the part's id was generated.
func deriveID(prefix Prefix, part PartID) string {
	const body, timed = 26, 12
	id := string(part)
	digits := id[min(len(PrefixPart)+1, len(id)):]
	stamp, err := hex.DecodeString(digits[:min(timed, len(digits))])
	if err != nil || len(digits) != body {
		sum := sha256.Sum256([]byte(id))
		return string(prefix) + "_" + hex.EncodeToString(sum[:])[:body]
	}
	if prefix == PrefixSession {
		for i := range stamp {
			stamp[i] = ^stamp[i]
		}
	}
	return string(prefix) + "_" + hex.EncodeToString(stamp) + digits[timed:]
}
