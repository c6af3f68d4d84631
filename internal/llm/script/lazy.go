package script

import (
	"regexp"
	"sync"
)

// lazily compiles an expression when it is first used: most processes never ask the Guide, and none should pay for it
// when it starts.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
