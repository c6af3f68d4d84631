//go:build !windows && !darwin

package keyring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// System returns the keyring of the user's session, nil if the environment tells of none. getenv looks up environment
// variables.
func System(getenv func(string) string) Ring {
	if path := busPath(getenv); path != "" {
		return secretService{path}
	}
	return nil
}

// busPath is the socket of the session's bus. One in the abstract namespace begins with @.
func busPath(getenv func(string) string) string {
	for _, address := range strings.Split(getenv("DBUS_SESSION_BUS_ADDRESS"), ";") {
		rest, _ := strings.CutPrefix(address, "unix:")
		for _, option := range strings.Split(rest, ",") {
			name, value, _ := strings.Cut(option, "=")
			value, err := dbus.UnescapeBusAddressValue(value)
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
	serviceName = "org.freedesktop.secrets"
	servicePath = "/org/freedesktop/secrets"
	apiService  = "org.freedesktop.Secret.Service."
	apiItem     = "org.freedesktop.Secret.Item."
	apiPrompt   = "org.freedesktop.Secret.Prompt"
	nothing     = dbus.ObjectPath("/") // a path of the service's that leads nowhere
)

// secretService is a Ring over the bus with this socket. Each call has a connection of its own.
type secretService struct{ bus string }

// Title implements Ring.
func (secretService) Title() string { return "keyring" }

// secret is a value on its way over the bus. The bus is a socket of the user's own: it goes as it is.
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

// patience is how long the bus and the service may take to say that they are there.
const patience = 5 * time.Second

// visit is one connection to the service.
type visit struct {
	conn    *dbus.Conn
	session dbus.ObjectPath
}

// visit connects to the service, until ctx ends.
func (s secretService) visit(ctx context.Context) (*visit, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", s.bus)
	if err != nil {
		return nil, fmt.Errorf("the session's bus does not answer: %w", errors.Unwrap(err))
	}
	socket, ok := c.(*net.UnixConn)
	if !ok || c.SetDeadline(time.Now().Add(patience)) != nil { // connecting knows no context
		return nil, errors.Join(errors.New("the session's bus is no socket"), c.Close())
	}
	conn, err := dbus.ConnectUnix(socket, dbus.WithContext(ctx))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the session's bus: %w", err), c.Close())
	}
	v := &visit{conn: conn}
	var ignored dbus.Variant
	err = v.call(ctx, servicePath, apiService+"OpenSession", "plain", dbus.MakeVariant("")).Store(&ignored, &v.session)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the keyring: %w", err), conn.Close())
	}
	var until time.Time
	if end, ok := ctx.Deadline(); ok {
		until = end
	}
	return v, c.SetDeadline(until)
}

// close leaves; the service forgets the session by itself.
func (v *visit) close() { _ = v.conn.Close() }

func (v *visit) call(ctx context.Context, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	return v.conn.Object(serviceName, path).CallWithContext(ctx, method, 0, args...)
}

func attributes(name string) map[string]string {
	return map[string]string{"application": application, "name": name}
}

// Put implements Ring.
func (s secretService) Put(ctx context.Context, name, value string) error {
	v, err := s.visit(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	var collection dbus.ObjectPath
	if err := v.call(ctx, servicePath, apiService+"ReadAlias", "default").Store(&collection); err != nil {
		return fmt.Errorf("the keyring: %w", err)
	}
	if collection == nothing || collection == "" {
		return errors.New("the keyring has no collection to keep things in")
	}
	if err := v.unlock(ctx, collection); err != nil {
		return err
	}
	properties := map[string]dbus.Variant{
		apiItem + "Label":      dbus.MakeVariant(application + ": " + name),
		apiItem + "Attributes": dbus.MakeVariant(attributes(name)),
	}
	var item, prompt dbus.ObjectPath
	kept := secret{v.session, []byte{}, []byte(value), "text/plain; charset=utf8"}
	err = v.call(ctx, collection, "org.freedesktop.Secret.Collection.CreateItem", properties, kept, true).Store(&item, &prompt)
	if err != nil {
		return fmt.Errorf("the keyring: %w", err)
	}
	return v.ask(ctx, prompt)
}

// unlock opens a collection. Its owner may be asked.
func (v *visit) unlock(ctx context.Context, collection dbus.ObjectPath) error {
	var open []dbus.ObjectPath
	var prompt dbus.ObjectPath
	if err := v.call(ctx, servicePath, apiService+"Unlock", []dbus.ObjectPath{collection}).Store(&open, &prompt); err != nil {
		return fmt.Errorf("the keyring: %w", err)
	}
	return v.ask(ctx, prompt)
}

// ask has the service ask its owner, if it wants to, and waits for the answer.
func (v *visit) ask(ctx context.Context, prompt dbus.ObjectPath) error {
	if prompt == nothing || prompt == "" {
		return nil
	}
	answers := make(chan *dbus.Signal, 4) // a prompt says one thing
	v.conn.Signal(answers)
	if err := v.conn.AddMatchSignalContext(ctx, dbus.WithMatchObjectPath(prompt), dbus.WithMatchInterface(apiPrompt)); err != nil {
		return fmt.Errorf("the keyring: %w", err)
	}
	if err := v.call(ctx, prompt, apiPrompt+".Prompt", "").Err; err != nil {
		return ErrLocked // there is nobody to ask
	}
	for {
		select {
		case <-ctx.Done():
			return ErrLocked
		case s, ok := <-answers:
			if !ok {
				return ErrLocked
			}
			if s.Path != prompt || s.Name != apiPrompt+".Completed" {
				continue
			}
			if dismissed, ok := first(s.Body).(bool); !ok || dismissed {
				return ErrLocked
			}
			return nil
		}
	}
}

func first(values []any) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

// find returns the item of a name, wherever it was put.
func (v *visit) find(ctx context.Context, name string) (dbus.ObjectPath, error) {
	var open, locked []dbus.ObjectPath
	if err := v.call(ctx, servicePath, apiService+"SearchItems", attributes(name)).Store(&open, &locked); err != nil {
		return "", fmt.Errorf("the keyring: %w", err)
	}
	switch {
	case len(open) > 0:
		return open[0], nil
	case len(locked) > 0:
		return "", ErrLocked
	default:
		return "", ErrNone
	}
}

// Get implements Ring.
func (s secretService) Get(ctx context.Context, name string) (string, error) {
	v, err := s.visit(ctx)
	if err != nil {
		return "", err
	}
	defer v.close()
	item, err := v.find(ctx, name)
	if err != nil {
		return "", err
	}
	var got secret
	if err := v.call(ctx, item, apiItem+"GetSecret", v.session).Store(&got); err != nil {
		return "", fmt.Errorf("the keyring: %w", err)
	}
	return string(got.Value), nil
}

// Drop implements Ring.
func (s secretService) Drop(ctx context.Context, name string) error {
	v, err := s.visit(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	item, err := v.find(ctx, name)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	var prompt dbus.ObjectPath
	if err := v.call(ctx, item, apiItem+"Delete").Store(&prompt); err != nil {
		return fmt.Errorf("the keyring: %w", err)
	}
	if prompt != nothing && prompt != "" {
		return ErrLocked
	}
	return nil
}
