//go:build windows || darwin

package keyring

import (
	"context"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// Open returns the keychain of macOS or the credential store of Windows.
func Open(func(string) string) Keyring { return native{newCaller()} }

// native is the keyring that comes with the operating system. All its calls may prompt the user.
type native struct{ caller }

// Set implements Keyring.
func (n native) Set(ctx context.Context, name, secret string) error {
	_, err := n.call(ctx, ErrLocked, func() (string, error) { return "", keyring.Set(application, name, secret) })
	return errorOf(err)
}

// Get implements Keyring.
func (n native) Get(ctx context.Context, name string) (string, error) {
	secret, err := n.call(ctx, ErrLocked, func() (string, error) { return keyring.Get(application, name) })
	return secret, errorOf(err)
}

// Delete implements Keyring.
func (n native) Delete(ctx context.Context, name string, _ bool) error {
	_, err := n.call(ctx, ErrLocked, func() (string, error) { return "", keyring.Delete(application, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return errorOf(err)
}

// errorOf translates an error of go-keyring.
func errorOf(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrLocked):
		return err
	case errors.Is(err, keyring.ErrNotFound):
		return ErrNotFound
	default:
		return fmt.Errorf("the keyring: %w", err)
	}
}
