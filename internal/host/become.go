package host

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

func (h Host) become(ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o cli.Options) (*cli.Connection, error) {
	w, err := own(ctx, lease, dirs, o)
	if err != nil {
		return nil, err
	}
	if err := w.recover(ctx); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	return &cli.Connection{API: w.client(o.Dir), Close: w.close}, nil
}

func dial(ctx context.Context, owner sqlite.Owner, o cli.Options) (*cli.Connection, error) {
	return nil, errors.New("x")
}
func (h Host) Serve(ctx context.Context, o cli.ServeOptions, ready func(cli.Listening)) error {
	return nil
}
func (h Host) Fsck(ctx context.Context, o cli.Options) ([]cli.Finding, error) { return nil, nil }
