package admit

import (
	"context"

	"github.com/cairn-dev/cairn/internal/access/caller"
)

// isRestricted reports whether the caller may not approve what its prompts do.
func isRestricted(ctx context.Context) bool { return caller.FromContext(ctx).Role < caller.Approve }
