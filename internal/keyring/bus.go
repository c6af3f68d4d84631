//go:build !windows && !darwin

package keyring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// System returns the keyring of the user's session, nil if the environment tells of none. getenv looks up environment
// variables.
func System(getenv func(string) string) Ring {
	if path := busPath(getenv); path != "" {
		return secretService{dialer(path)}
	}
	return nil
}

// busPath is the socket of the session's bus. One in the abstract namespace begins with @.
func busPath(getenv func(string) string) string {
	for _, address := range strings.Split(getenv("DBUS_SESSION_BUS_ADDRESS"), ";") {
		rest, _ := strings.CutPrefix(address, "unix:")
		for _, option := range strings.Split(rest, ",") {
			name, value, _ := strings.Cut(option, "=")
			value, err := url.PathUnescape(value) // bytes are escaped as in URLs
			switch {
			case err != nil || value == "" || rest == address:
			case name == "path":
				return value
			case name == "abstract":
				return "@" + value
			}
		}
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, "bus")
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
		return ""
	}
	return path
}

// The Secret Service, as freedesktop.org describes it.
const (
	serviceName   = "org.freedesktop.secrets"
	servicePath   = "/org/freedesktop/secrets"
	apiService    = "org.freedesktop.Secret.Service"
	apiCollection = "org.freedesktop.Secret.Collection"
	apiItem       = "org.freedesktop.Secret.Item"
	apiPrompt     = "org.freedesktop.Secret.Prompt"
	nothing       = "/" // a path of the service's that leads nowhere
)

// secretService is a Ring over the bus that dial connects to. Each call has a connection of its own.
type secretService struct {
	dial func(context.Context) (net.Conn, error)
}

// Title implements Ring.
func (secretService) Title() string { return "keyring" }

// visit is one connection to the service.
type visit struct {
	*bus
	session string
}

// visit connects to the service.
func (s secretService) visit(ctx context.Context) (*visit, error) {
	b, err := connect(ctx, s.dial)
	if err != nil {
		return nil, err
	}
	v := &visit{bus: b}
	var e encoder
	e.text("plain") // the bus is a socket of the user's own: secrets go as they are
	e.signature("s")
	e.text("")
	d, err := v.ask(ctx, call{path: servicePath, api: apiService, method: "OpenSession", signature: "sv", body: e.raw}, "vo")
	if err == nil {
		d.variant()
		v.session, err = d.path(), d.whole()
	}
	if err != nil {
		v.close() // the service forgets the session by itself
		return nil, theKeyring(err)
	}
	return v, nil
}

// theKeyring says of whom an error tells.
func theKeyring(err error) error {
	if err == nil || errors.Is(err, ErrLocked) || errors.Is(err, ErrNone) {
		return err
	}
	return fmt.Errorf("the keyring %w", err)
}

// ask calls a method of the service's.
func (v *visit) ask(ctx context.Context, c call, want string) (*decoder, error) {
	c.to = serviceName
	d, err := v.call(ctx, c, want)
	if r, ok := errors.AsType[*refused](err); ok {
		switch r.name {
		case "org.freedesktop.Secret.Error.IsLocked":
			return nil, ErrLocked
		case "org.freedesktop.Secret.Error.NoSuchObject":
			return nil, ErrNone
		}
	}
	return d, err
}

func attributes(name string) [][2]string {
	return [][2]string{{"application", application}, {"name", name}}
}

// Put implements Ring.
func (s secretService) Put(ctx context.Context, name, value string) error {
	if len(value) > maxSecret {
		return errors.New("it is too long for the keyring")
	}
	v, err := s.visit(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	var e encoder
	e.text("default")
	d, err := v.ask(ctx, call{path: servicePath, api: apiService, method: "ReadAlias", signature: "s", body: e.raw}, "o")
	if err != nil {
		return theKeyring(err)
	}
	collection := d.path()
	if d.bad || collection == nothing {
		return errors.New("the keyring has no collection to keep things in")
	}
	if err := v.unlock(ctx, collection); err != nil {
		return theKeyring(err)
	}
	d, err = v.ask(ctx, call{path: collection, api: apiCollection, method: "CreateItem", signature: "a{sv}(oayays)b", body: v.item(name, value)}, "oo")
	if err != nil {
		return theKeyring(err)
	}
	d.path()
	return theKeyring(v.prompt(ctx, d))
}

// item is what CreateItem wants to know: what is told of a secret, the secret, and that it takes the place of an older one.
func (v *visit) item(name, value string) []byte {
	var e encoder
	e.list(8, func() {
		e.text(apiItem + ".Label")
		e.signature("s")
		e.text(application + ": " + name)
		e.align(8)
		e.text(apiItem + ".Attributes")
		e.signature("a{ss}")
		e.texts(attributes(name))
	})
	e.align(8)
	e.text(v.session)
	e.bytes(nil)
	e.bytes([]byte(value))
	e.text("text/plain; charset=utf8")
	e.uint32(1)
	return e.raw
}

// unlock opens a collection or an item. Its owner may be asked.
func (v *visit) unlock(ctx context.Context, path string) error {
	var e encoder
	e.list(4, func() { e.text(path) })
	d, err := v.ask(ctx, call{path: servicePath, api: apiService, method: "Unlock", signature: "ao", body: e.raw}, "aoo")
	if err != nil {
		return err
	}
	d.paths()
	return v.prompt(ctx, d)
}

// prompt reads the prompt that an answer ends with, has the service ask its owner, if it wants to, and waits until the
// owner has answered.
func (v *visit) prompt(ctx context.Context, d *decoder) error {
	path := d.path()
	if err := d.whole(); err != nil || path == nothing {
		return err
	}
	var e encoder
	e.text("type='signal',interface='" + apiPrompt + "',path='" + path + "'")
	_, err := v.call(ctx, call{"org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", e.raw}, "")
	if err != nil {
		return err
	}
	e = encoder{}
	e.text("") // there is no window of ours
	if _, err := v.ask(ctx, call{path: path, api: apiPrompt, method: "Prompt", signature: "s", body: e.raw}, ""); err != nil {
		return ErrLocked // there is nobody to ask
	}
	if err := v.wait(ctx); err != nil {
		return err
	}
	m, err := v.signal(ctx, path, "Completed")
	if errors.Is(err, errSilent) {
		return ErrLocked
	}
	if err != nil {
		return err
	}
	if dismissed := m.body.bool(); dismissed || m.body.bad {
		return ErrLocked
	}
	return v.hurry()
}

// find returns the item of a name, wherever it was put, and whether it is locked.
func (v *visit) find(ctx context.Context, name string) (path string, locked bool, err error) {
	var e encoder
	e.texts(attributes(name))
	d, err := v.ask(ctx, call{path: servicePath, api: apiService, method: "SearchItems", signature: "a{ss}", body: e.raw}, "aoao")
	if err != nil {
		return "", false, err
	}
	open, closed := d.paths(), d.paths()
	switch {
	case d.bad:
		return "", false, errGarbled
	case len(open) > 0:
		return open[0], false, nil
	case len(closed) > 0:
		return closed[0], true, nil
	default:
		return "", false, ErrNone
	}
}

// Get implements Ring.
func (s secretService) Get(ctx context.Context, name string) (string, error) {
	v, err := s.visit(ctx)
	if err != nil {
		return "", err
	}
	defer v.close()
	item, locked, err := v.find(ctx, name)
	if err == nil && locked {
		err = ErrLocked
	}
	if err != nil {
		return "", theKeyring(err)
	}
	var e encoder
	e.text(v.session)
	d, err := v.ask(ctx, call{path: item, api: apiItem, method: "GetSecret", signature: "o", body: e.raw}, "(oayays)")
	if err != nil {
		return "", theKeyring(err)
	}
	d.path()
	d.bytes()
	value := string(d.bytes())
	d.text()
	return value, theKeyring(d.whole())
}

// Drop implements Ring.
func (s secretService) Drop(ctx context.Context, name string, ask bool) error {
	v, err := s.visit(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	err = v.drop(ctx, name, ask)
	if errors.Is(err, ErrNone) {
		return nil
	}
	return theKeyring(err)
}

func (v *visit) drop(ctx context.Context, name string, ask bool) error {
	item, locked, err := v.find(ctx, name)
	switch {
	case err != nil:
		return err
	case locked && !ask:
		return ErrLocked
	case locked:
		if err := v.unlock(ctx, item); err != nil {
			return err
		}
	}
	d, err := v.ask(ctx, call{path: item, api: apiItem, method: "Delete"}, "o")
	if err != nil {
		return err
	}
	if !ask {
		if d.path() != nothing {
			return ErrLocked // it would ask whether it may
		}
		return nil
	}
	return v.prompt(ctx, d)
}
