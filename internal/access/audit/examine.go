package audit

import (
	"context"

	"github.com/cairn-dev/cairn/internal/finding"
)

// Examine looks for changed and missing entries of the audit log.
func (l *Trail) Examine(ctx context.Context) []finding.Finding {
	r, err := l.Read(ctx)
	if err != nil {
		r.Problem = err.Error()
	}
	if r.Problem == "" {
		return nil
	}
	return []finding.Finding{{
		Level: finding.Error, What: "audit log", Detail: r.Problem,
		Fix: "find out who changed it: cairn audit show; move " + l.Directory() +
			" away to begin another",
	}}
}
