package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// ErrBefore and ErrAfter are the errors that the function of NewFailing returns, alone or wrapped, to choose when
// the Update fails.
var (
	ErrBefore = errors.New("failing before the commit") // nothing is stored
	ErrAfter  = errors.New("failing after the commit")  // everything is stored, and the caller gets an error
)

// NewFailing returns a store that calls fault before every Update, numbered from 1 in call order. An error makes
// the Update fail: with ErrAfter it is committed and fails as an ErrUncertain; with any other error it is not
// committed and fails as an ErrUnavailable. Views and Close pass through.
func NewFailing(s store.Store, fault func(op int) error) store.Store {
	return &failing{Store: s, fault: fault}
}

type failing struct {
	store.Store
	fault func(op int) error
	ops   atomic.Int64
}

func (f *failing) Update(ctx context.Context, d store.Durability, fn func(store.Tx) error) error {
	fault := f.fault(int(f.ops.Add(1)))
	if fault == nil {
		return f.Store.Update(ctx, d, fn)
	}
	if !errors.Is(fault, ErrAfter) {
		fault = fmt.Errorf("%w: %w", store.ErrUnavailable, fault)
		err := f.Store.Update(ctx, d, func(tx store.Tx) error { // the function runs, and all of it is undone
			if err := fn(tx); err != nil {
				return err
			}
			return fault
		})
		return err
	}
	if err := f.Store.Update(ctx, d, fn); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrUncertain, fault)
}
