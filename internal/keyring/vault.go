//go:build windows || darwin

package keyring

import (
	"context"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// System returns the keychain of macOS or the credentials of Windows.
func System(func(string) string) Ring { return vault{} }

// vault is a Ring of the operating system's own.
type vault struct{}

// Title implements Ring.
func (vault) Title() string { return "keyring" }

// Put implements Ring.
func (vault) Put(ctx context.Context, name, secret string) error {
	_, err := within(ctx, func() (string, error) { return "", keyring.Set(application, name, secret) })
	return err
}

// Get implements Ring.
func (vault) Get(ctx context.Context, name string) (string, error) {
	return within(ctx, func() (string, error) { return keyring.Get(application, name) })
}

// Drop implements Ring.
func (vault) Drop(ctx context.Context, name string, _ bool) error {
	_, err := within(ctx, func() (string, error) { return "", keyring.Delete(application, name) })
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// within bounds a call that knows no context. One that asks somebody who does not answer is left behind: nothing can end
// it before the process does.
func within(ctx context.Context, call func() (string, error)) (string, error) {
	type outcome struct {
		secret string
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		secret, err := call()
		done <- outcome{secret, err}
	}()
	select {
	case <-ctx.Done():
		return "", ErrLocked
	case o := <-done:
		switch {
		case errors.Is(o.err, keyring.ErrNotFound):
			return "", ErrNone
		case o.err != nil:
			return "", fmt.Errorf("the keyring: %w", o.err)
		}
		return o.secret, nil
	}
}
