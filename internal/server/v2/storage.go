package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// Storage keeps the store small.
type Storage interface {
	Prune(ctx context.Context, r api.PruneRequest) (api.PruneResult, error)
	Vacuum(ctx context.Context, r api.VacuumRequest) (api.VacuumResult, error)
}

// storageHandlers keep the store small.
type storageHandlers struct{ *dependencies }

func (h storageHandlers) prune(
	ctx context.Context, in struct {
		Body api.PruneRequest `body:"required"`
	},
) (api.Data[api.PruneResult], error) {
	long, end := h.long.Start(ctx, "")
	defer end()
	out, err := h.Storage.Prune(long, in.Body)
	return newData(out), err
}

func (h storageHandlers) vacuum(
	ctx context.Context, in struct {
		Body api.VacuumRequest `body:"required"`
	},
) (api.Data[api.VacuumResult], error) {
	long, end := h.long.Start(ctx, "")
	defer end()
	out, err := h.Storage.Vacuum(long, in.Body)
	return newData(out), err
}
