package history

import (
	"regexp"
	"strings"
)

var thinkBlock = regexp.MustCompile(`(?s)<think>.*?(?:</think>|$)`)

// RemoveThinking removes the blocks of thinking that some models write into their answers, and invalid UTF-8.
func RemoveThinking(answer string) string {
	return thinkBlock.ReplaceAllString(strings.ToValidUTF8(answer, ""), "")
}
