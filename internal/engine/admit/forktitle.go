package admit

import (
	"fmt"
	"regexp"
	"strconv"
)

// numbered matches the title of a fork: the title of its source, and its number.
var numbered = regexp.MustCompile(`^(.*) \(fork #([0-9]{1,9})\)$`)

// NumberTitle returns the title of a fork, as OpenCode chooses it: that of the source with " (fork #1)", or with the
// next number if it has one.
func NumberTitle(title string) string {
	if m := numbered.FindStringSubmatch(title); m != nil {
		n, _ := strconv.Atoi(m[2]) // at most nine digits
		return fmt.Sprintf("%s (fork #%d)", m[1], n+1)
	}
	return title + " (fork #1)"
}
