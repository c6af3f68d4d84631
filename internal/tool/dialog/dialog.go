// Package dialog holds the tools that touch nothing but the session itself: its list of todos, which the people it
// works for can see, and the questions that the model puts to them.
package dialog

import "github.com/cairn-dev/cairn/internal/tool"

// New returns the tools. What they need of the session comes with each call.
func New() []tool.Tool { return []tool.Tool{todoWrite{}, todoRead{}, questionTool{}} }
