// Package sessions has the earlier names of package sessionsearch.
package sessions

import "github.com/cairn-dev/cairn/internal/tool/sessionsearch"

// Query is the input of session_search.
type Query = sessionsearch.Query

// Hit is a text that was found.
type Hit = sessionsearch.Hit
