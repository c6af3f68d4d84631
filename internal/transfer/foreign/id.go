package foreign

import (
	"errors"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// CheckID returns why an id of OpenCode cannot be kept; nil if it can. Ids of imports are what programs write: letters,
// digits, "_", "-" and "." behind the prefix. In a damaged source an id can be anything.
func CheckID(p session.Prefix, id string) error {
	if err := session.CheckID("id", p, id); err != nil {
		return err
	}
	isOther := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("_-.", c))
	}
	if strings.ContainsFunc(id, isOther) || len(id) == len(p) {
		return errors.New("the id has a character that no program writes, or nothing behind its prefix")
	}
	return nil
}
