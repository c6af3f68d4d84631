// Package dialog has the tools that only touch the session: its todo list, and questions to the user.
package dialog

import "github.com/cairn-dev/cairn/internal/tool"

// New returns the tools. Each call brings what they need of the session.
func New() []tool.Tool { return []tool.Tool{todoWrite{}, todoRead{}, questionTool{}} }
