package fork

import (
	"fmt"
	"regexp"
	"strconv"
)

var numbered = regexp.MustCompile(`^(.*) \(fork #([0-9]{1,9})\)$`)

// NumberTitle returns the title of a fork of the session with the title, in the way of OpenCode: a number follows it,
// the next one if it has a number.
func NumberTitle(title string) string {
	if m := numbered.FindStringSubmatch(title); m != nil {
		n, _ := strconv.Atoi(m[2]) // at most nine digits
		return fmt.Sprintf("%s (fork #%d)", m[1], n+1)
	}
	return title + " (fork #1)"
}
