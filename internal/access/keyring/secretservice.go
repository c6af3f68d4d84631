//go:build !windows && !darwin

package keyring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/godbus/dbus/v5"
	ss "github.com/zalando/go-keyring/secret_service"
)

// Open returns the Secret Service of the user's session, or nil if the environment names no session bus. Without this
// check the D-Bus library would start dbus-launch. getenv looks up environment variables.
func Open(getenv func(string) string) Keyring {
	if !hasSessionBus(getenv) {
		return nil
	}
	return secretService{newCaller()}
}

// hasSessionBus reports whether the environment leads to a session bus at a socket of this machine.
func hasSessionBus(getenv func(string) string) bool {
	if addresses := getenv("DBUS_SESSION_BUS_ADDRESS"); addresses != "" {
		for address := range strings.SplitSeq(addresses, ";") {
			if strings.HasPrefix(address, "unix:") {
				return true
			}
		}
		return false
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// Names of the Secret Service API of freedesktop.org.
const (
	serviceName       = "org.freedesktop.secrets"
	servicePath       = dbus.ObjectPath("/org/freedesktop/secrets")
	defaultCollection = dbus.ObjectPath("/org/freedesktop/secrets/aliases/default")
	noPrompt          = dbus.ObjectPath("/")

	searchItems      = "org.freedesktop.Secret.Service.SearchItems"
	lockedCollection = "org.freedesktop.Secret.Collection.Locked"
	deleteItem       = "org.freedesktop.Secret.Item.Delete"

	errorIsLocked     = "org.freedesktop.Secret.Error.IsLocked"
	errorNoSuchObject = "org.freedesktop.Secret.Error.NoSuchObject"
)

// secretService is a Keyring behind the session bus. It uses go-keyring's client of the Secret Service instead of
// go-keyring itself for two reasons: that prompts the user in every call, and it stores entries under other attributes
// than earlier versions of cairn did.
type secretService struct{ caller }

// attributesOf returns the attributes by which an entry is found again. Entries of earlier versions have the same.
func attributesOf(name string) map[string]string {
	return map[string]string{"application": application, "name": name}
}

// Set implements Keyring.
func (s secretService) Set(ctx context.Context, name, secret string) error {
	_, err := s.call(ctx, ErrLocked, func() (string, error) {
		c, err := connect()
		if err != nil {
			return "", err
		}
		defer c.close()
		return "", c.set(name, secret)
	})
	return errorOf(err)
}

// Get implements Keyring.
func (s secretService) Get(ctx context.Context, name string) (string, error) {
	secret, err := s.call(ctx, errTimeout, func() (string, error) {
		c, err := connect()
		if err != nil {
			return "", err
		}
		defer c.close()
		return c.get(name)
	})
	return secret, errorOf(err)
}

// Delete implements Keyring.
func (s secretService) Delete(ctx context.Context, name string, prompt bool) error {
	onTimeout := errTimeout
	if prompt {
		onTimeout = ErrLocked
	}
	_, err := s.call(ctx, onTimeout, func() (string, error) {
		c, err := connect()
		if err != nil {
			return "", err
		}
		defer c.close()
		return "", c.delete(name, prompt)
	})
	if err = errorOf(err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// client is one session with the Secret Service, over the process's connection to the bus.
type client struct {
	*ss.SecretService
	session dbus.BusObject
}

func connect() (*client, error) {
	service, err := ss.NewSecretService()
	if err != nil {
		return nil, err
	}
	session, err := service.OpenSession() // unencrypted: the bus is a socket of the user
	if err != nil {
		return nil, err
	}
	return &client{service, session}, nil
}

func (c *client) close() { _ = c.Close(c.session) }

func (c *client) set(name, secret string) error {
	collection := c.Object(serviceName, defaultCollection)
	if err := c.Unlock(defaultCollection); err != nil {
		if v, propErr := collection.GetProperty(lockedCollection); propErr == nil && v.Value() == true {
			return ErrLocked // the user dismissed the prompt
		}
		return err
	}
	return c.CreateItem(collection, application+": "+name, attributesOf(name), ss.NewSecret(c.session.Path(), secret))
}

func (c *client) get(name string) (string, error) {
	item, locked, err := c.find(name)
	if err == nil && locked {
		err = ErrLocked
	}
	if err != nil {
		return "", err
	}
	secret, err := c.GetSecret(item, c.session.Path())
	if err != nil {
		return "", err
	}
	return string(secret.Value), nil
}

// find returns the item of a name in whichever collection it is, and whether that is locked. It does not prompt.
func (c *client) find(name string) (item dbus.ObjectPath, locked bool, err error) {
	var readable, unreadable []dbus.ObjectPath
	reply := c.Object(serviceName, servicePath).Call(searchItems, 0, attributesOf(name))
	if err := reply.Store(&readable, &unreadable); err != nil {
		return "", false, err
	}
	switch {
	case len(readable) > 0:
		return readable[0], false, nil
	case len(unreadable) > 0:
		return unreadable[0], true, nil
	default:
		return "", false, ErrNotFound
	}
}

func (c *client) delete(name string, prompt bool) error {
	item, locked, err := c.find(name)
	if err != nil {
		return err
	}
	if !prompt {
		if locked {
			return ErrLocked
		}
		return c.deleteUnprompted(item)
	}
	if locked {
		if err := c.Unlock(item); err != nil {
			return ErrLocked
		}
	}
	return c.SecretService.Delete(item)
}

// deleteUnprompted deletes an item unless the service wants the user to confirm that.
func (c *client) deleteUnprompted(item dbus.ObjectPath) error {
	var prompt dbus.ObjectPath
	if err := c.Object(serviceName, item).Call(deleteItem, 0).Store(&prompt); err != nil {
		return err
	}
	if prompt != noPrompt {
		return ErrLocked
	}
	return nil
}

// errorOf translates an error of the bus or the service.
func errorOf(err error) error {
	if refusal, ok := errors.AsType[dbus.Error](err); ok {
		switch refusal.Name {
		case errorIsLocked:
			return ErrLocked
		case errorNoSuchObject:
			return ErrNotFound
		}
	}
	switch {
	case err == nil, errors.Is(err, ErrLocked), errors.Is(err, ErrNotFound), errors.Is(err, errTimeout):
		return err
	default:
		return fmt.Errorf("the keyring: %w", err)
	}
}
