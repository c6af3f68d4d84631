//go:build !windows && !darwin

package keyring_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/cairn-dev/cairn/internal/keyring"
)

// service is a bus with nobody on it but a Secret Service, as far as a client can tell.
type service struct {
	t     *testing.T
	items map[string]string // secrets by the name that their attributes have

	mu      sync.Mutex // guards what follows, and items
	locked  bool       // the collection
	asks    string     // what comes of a prompt: "", yes, no, or never
	empty   bool       // there is no collection
	silent  bool       // nothing is answered behind the greeting
	methods []string
}

// ring serves the bus at a socket and returns the keyring that the environment tells of.
func (s *service) ring() keyring.Ring {
	dir, err := os.MkdirTemp("", "bus") // the names of sockets are short
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		s.t.Fatal(err)
	}
	var all sync.WaitGroup
	s.t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
		_ = os.RemoveAll(dir)
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(c) })
		}
	})
	return keyring.System(func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[name] })
}

// serve greets a client and answers its calls.
func (s *service) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.Trim(line, "\x00\r\n")
		switch {
		case line == "AUTH":
			_, _ = io.WriteString(c, "REJECTED EXTERNAL\r\n")
		case strings.HasPrefix(line, "AUTH EXTERNAL"):
			_, _ = io.WriteString(c, "OK 0123456789abcdef0123456789abcdef\r\n")
		case line == "BEGIN":
			s.calls(in, c)
			return
		default:
			_, _ = io.WriteString(c, "ERROR\r\n")
		}
	}
}

func (s *service) calls(in io.Reader, c net.Conn) {
	for n := uint32(1); ; n++ {
		m, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		method, _ := m.Headers[dbus.FieldMember].Value().(string)
		body, signal := s.answer(m, method)
		if body == nil {
			continue
		}
		send(c, dbus.TypeMethodReply, n*2, map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()), dbus.FieldSender: dbus.MakeVariant("org.freedesktop.secrets"),
		}, body)
		if signal != nil {
			send(c, dbus.TypeSignal, n*2+1, map[dbus.HeaderField]dbus.Variant{
				dbus.FieldPath: dbus.MakeVariant(prompt), dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.Secret.Prompt"),
				dbus.FieldMember: dbus.MakeVariant("Completed"), dbus.FieldSender: dbus.MakeVariant("org.freedesktop.secrets"),
			}, signal)
		}
	}
}

func send(c net.Conn, kind dbus.Type, serial uint32, headers map[dbus.HeaderField]dbus.Variant, body []any) {
	m := &dbus.Message{Type: kind, Headers: headers, Body: body}
	if len(body) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	var raw bytes.Buffer
	if m.EncodeTo(&raw, binary.LittleEndian) == nil {
		binary.LittleEndian.PutUint32(raw.Bytes()[8:], serial) // the library numbers what it sends itself
		_, _ = c.Write(raw.Bytes())
	}
}

const (
	collection = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	prompt     = dbus.ObjectPath("/org/freedesktop/secrets/prompt/1")
	none       = dbus.ObjectPath("/")
)

// item is the path of the item of a name.
func item(name string) dbus.ObjectPath { return collection + dbus.ObjectPath("/"+name) }

// answer is what the service says to a call, and what it says later; nil is silence.
func (s *service) answer(m *dbus.Message, method string) (body, signal []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods = append(s.methods, method)
	path, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	name := strings.TrimPrefix(string(path), string(collection)+"/")
	switch {
	case method == "Hello":
		return []any{":1.1"}, nil
	case s.silent:
		return nil, nil
	}
	switch method {
	case "OpenSession":
		return []any{dbus.MakeVariant(""), dbus.ObjectPath("/org/freedesktop/secrets/session/1")}, nil
	case "ReadAlias":
		if s.empty {
			return []any{none}, nil
		}
		return []any{collection}, nil
	case "Unlock":
		if s.locked {
			return []any{[]dbus.ObjectPath{}, prompt}, nil
		}
		return []any{[]dbus.ObjectPath{collection}, none}, nil
	case "Prompt":
		switch s.asks {
		case "yes":
			s.locked = false
			return []any{}, []any{false, dbus.MakeVariant([]dbus.ObjectPath{collection})}
		case "no":
			return []any{}, []any{true, dbus.MakeVariant("")}
		}
		return []any{}, nil
	case "CreateItem":
		properties, _ := m.Body[0].(map[string]dbus.Variant)
		secret, _ := m.Body[1].([]any)
		at, _ := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
		value, _ := secret[2].([]byte)
		s.items[at["name"]] = string(value)
		return []any{item(at["name"]), none}, nil
	case "SearchItems":
		at, _ := m.Body[0].(map[string]string)
		found, nobody := []dbus.ObjectPath{}, []dbus.ObjectPath{}
		if _, ok := s.items[at["name"]]; ok && at["application"] == "cairn" {
			found = append(found, item(at["name"]))
		}
		if s.locked {
			return []any{nobody, found}, nil
		}
		return []any{found, nobody}, nil
	case "GetSecret":
		type secret struct {
			Session     dbus.ObjectPath
			Parameters  []byte
			Value       []byte
			ContentType string
		}
		return []any{secret{"/s", []byte{}, []byte(s.items[name]), "text/plain"}}, nil
	case "Delete":
		delete(s.items, name)
		return []any{none}, nil
	}
	return []any{}, nil
}

func newService(t *testing.T) *service {
	t.Helper()
	return &service{t: t, items: map[string]string{}}
}

func TestSecretService(t *testing.T) {
	s := newService(t)
	ring := s.ring()
	ctx := t.Context()
	if _, err := ring.Get(ctx, "a"); !errors.Is(err, keyring.ErrNone) {
		t.Error(err)
	}
	for _, secret := range []string{"one", "two ß", strings.Repeat("long", 10_000)} {
		if err := ring.Put(ctx, "a", secret); err != nil {
			t.Fatal(err)
		}
		if got, err := ring.Get(ctx, "a"); got != secret || err != nil {
			t.Errorf("%.20q, %v", got, err)
		}
	}
	if err := ring.Put(ctx, "b", strings.Repeat("x", 128<<10+1)); err == nil {
		t.Error("took what it would not give out")
	}
	longest := strings.Repeat("x", 128<<10)
	if err := ring.Put(ctx, "a", longest); err != nil {
		t.Error(err)
	}
	if got, err := ring.Get(ctx, "a"); got != longest || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for range 2 {
		if err := ring.Drop(ctx, "a", false); err != nil {
			t.Error(err)
		}
	}
	if len(s.items) != 0 {
		t.Errorf("%d are left", len(s.items))
	}
}

func TestSecretServiceThatIsLocked(t *testing.T) {
	for asks, want := range map[string]error{"yes": nil, "no": keyring.ErrLocked, "never": keyring.ErrLocked} {
		t.Run(asks, func(t *testing.T) {
			s := newService(t)
			s.locked, s.asks, s.items["b"] = true, asks, "old"
			ring := s.ring()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if asks == "never" {
				ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
			}
			defer cancel()
			if _, err := ring.Get(ctx, "b"); !errors.Is(err, keyring.ErrLocked) {
				t.Errorf("get: %v", err)
			}
			s.mu.Lock()
			asked := slices.Contains(s.methods, "Prompt")
			s.mu.Unlock()
			if asked {
				t.Error("somebody was asked to read")
			}
			if err := ring.Put(ctx, "a", "secret"); !errors.Is(err, want) {
				t.Errorf("put: %v, want %v", err, want)
			}
		})
	}
}

// Where nobody answers, a call ends with its context.
func TestSecretServiceThatIsSilent(t *testing.T) {
	s := newService(t)
	s.silent = true
	ring := s.ring()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := ring.Get(ctx, "a"); err == nil {
		t.Error("it gave something")
	}
	if err := ring.Put(ctx, "a", "x"); err == nil {
		t.Error("it took something")
	}
}

func TestSecretServiceWithoutCollection(t *testing.T) {
	s := newService(t)
	s.empty = true
	if err := s.ring().Put(t.Context(), "a", "x"); err == nil {
		t.Error("it took something")
	}
}

func TestSystem(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"nothing", nil, false},
		{"no socket", map[string]string{"XDG_RUNTIME_DIR": t.TempDir()}, false},
		{"a file", map[string]string{"XDG_RUNTIME_DIR": dir}, false},
		{"a bus elsewhere", map[string]string{"DBUS_SESSION_BUS_ADDRESS": "tcp:host=example.org,port=1"}, false},
		{"a command", map[string]string{"DBUS_SESSION_BUS_ADDRESS": "autolaunch:"}, false},
		{"a socket", map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1/bus,guid=1"}, true},
		{"an abstract socket", map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:abstract=/tmp/x"}, true},
		{"the second of two", map[string]string{"DBUS_SESSION_BUS_ADDRESS": "tcp:host=x;unix:path=/x"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ring := keyring.System(func(name string) string { return tt.env[name] })
			if (ring != nil) != tt.want {
				t.Errorf("%v", ring)
			}
			if ring == nil {
				return
			}
			if _, err := ring.Get(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "%!") {
				t.Errorf("nobody is there: %v", err)
			}
		})
	}
}
