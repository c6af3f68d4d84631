//go:build !windows && !darwin

package keyring_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/cairn-dev/cairn/internal/access/keyring"
)

// service is a session bus with nothing on it but a Secret Service, as far as a client can tell.
type service struct {
	t     *testing.T
	items map[string]string // secrets by the attribute "name"

	mu      sync.Mutex // guards what follows, and items
	locked  bool       // the collection is
	answer  string     // of the user to a prompt: "yes", "no", or "" for none
	missing bool       // there is no collection
	silent  bool       // nothing replies after the greeting
	methods []string   // that were called
}

func newService(t *testing.T) *service {
	t.Helper()
	return &service{t: t, items: map[string]string{}}
}

// open serves the bus at a socket, makes it the session bus of this process, and returns its keyring.
func (s *service) open() keyring.Keyring {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "bus") // short: the path of a socket has at most 108 bytes
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
	return openAt(s.t, "unix:path="+filepath.Join(dir, "bus"))
}

// openAt returns the keyring of a session bus, and disconnects this process from it when the test ends.
func openAt(t *testing.T, address string) keyring.Keyring {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	t.Cleanup(func() {
		if conn, err := dbus.SessionBus(); err == nil {
			_ = conn.Close()
		}
	})
	return keyring.Open(os.Getenv)
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

// calls replies to method calls until the client hangs up.
func (s *service) calls(in io.Reader, c net.Conn) {
	for n := uint32(1); ; n++ {
		m, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		method, _ := m.Headers[dbus.FieldMember].Value().(string)
		body, signal := s.reply(m, method)
		if body == nil {
			continue
		}
		headers := map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()),
			dbus.FieldSender:      dbus.MakeVariant("org.freedesktop.secrets"),
		}
		send(c, dbus.TypeMethodReply, n*2, headers, body)
		if signal != nil {
			headers := map[dbus.HeaderField]dbus.Variant{
				dbus.FieldPath:      dbus.MakeVariant(prompt),
				dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.Secret.Prompt"),
				dbus.FieldMember:    dbus.MakeVariant("Completed"),
				dbus.FieldSender:    dbus.MakeVariant("org.freedesktop.secrets"),
			}
			send(c, dbus.TypeSignal, n*2+1, headers, signal)
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
		binary.LittleEndian.PutUint32(raw.Bytes()[8:], serial) // EncodeTo leaves it 0
		_, _ = c.Write(raw.Bytes())
	}
}

const (
	collection = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	prompt     = dbus.ObjectPath("/org/freedesktop/secrets/prompt/1")
	noPath     = dbus.ObjectPath("/")
)

// itemPath returns the path of the item of a name, which may have characters that a path must not have.
func itemPath(name string) dbus.ObjectPath {
	return collection + dbus.ObjectPath("/"+hex.EncodeToString([]byte(name)))
}

// reply returns what the service replies to a call, and the body of the signal that it sends after that. A nil body is
// no reply.
func (s *service) reply(m *dbus.Message, method string) (body, signal []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods = append(s.methods, method)
	path, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	raw, _ := hex.DecodeString(strings.TrimPrefix(string(path), string(collection)+"/"))
	name := string(raw)
	switch {
	case method == "Hello":
		return []any{":1.1"}, nil
	case s.silent:
		return nil, nil
	}
	switch method {
	case "OpenSession":
		return []any{dbus.MakeVariant(""), dbus.ObjectPath("/org/freedesktop/secrets/session/1")}, nil
	case "Get":
		return []any{dbus.MakeVariant(s.locked)}, nil
	case "Unlock":
		switch {
		case s.missing:
			return []any{[]dbus.ObjectPath{}, noPath}, nil
		case s.locked:
			return []any{[]dbus.ObjectPath{}, prompt}, nil
		}
		return []any{[]dbus.ObjectPath{collection}, noPath}, nil
	case "Prompt":
		switch s.answer {
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
		attributes, _ := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
		value, _ := secret[2].([]byte)
		s.items[attributes["name"]] = string(value)
		return []any{itemPath(attributes["name"]), noPath}, nil
	case "SearchItems":
		attributes, _ := m.Body[0].(map[string]string)
		matches, none := []dbus.ObjectPath{}, []dbus.ObjectPath{}
		if _, ok := s.items[attributes["name"]]; ok && attributes["application"] == "cairn" {
			matches = append(matches, itemPath(attributes["name"]))
		}
		if s.locked {
			return []any{none, matches}, nil
		}
		return []any{matches, none}, nil
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
		return []any{noPath}, nil
	}
	return []any{}, nil
}

func TestSecretService(t *testing.T) { exerciseKeyring(t, newService(t).open()) }

// exerciseKeyring stores, reads, replaces and deletes entries.
func exerciseKeyring(t *testing.T, k keyring.Keyring) {
	t.Helper()
	ctx := t.Context()
	if _, err := k.Get(ctx, "a#1"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("get before set: %v, want ErrNotFound", err)
	}
	if err := k.Set(ctx, "other", "of another name"); err != nil {
		t.Fatalf("set other: %v", err)
	}
	for _, secret := range []string{"one", "two ß", strings.Repeat("long", 32<<10)} {
		if err := k.Set(ctx, "a#1", secret); err != nil {
			t.Fatalf("set: %v", err)
		}
		if got, err := k.Get(ctx, "a#1"); got != secret || err != nil {
			t.Errorf("get %.20q, %v; want %.20q", got, err, secret)
		}
	}
	for range 2 {
		if err := k.Delete(ctx, "a#1", false); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := k.Get(ctx, "a#1"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("get after delete: %v, want ErrNotFound", err)
	}
	if got, err := k.Get(ctx, "other"); got != "of another name" || err != nil {
		t.Errorf("get other: %q, %v", got, err)
	}
	if err := k.Delete(ctx, "other", true); err != nil {
		t.Errorf("delete other: %v", err)
	}
}

// Entries of cairn before it used go-keyring have the attributes "application" and "name".
func TestSecretServiceAttributes(t *testing.T) {
	s := newService(t)
	s.items["openai#1"] = "stored by an earlier version"
	if got, err := s.open().Get(t.Context(), "openai#1"); got != "stored by an earlier version" || err != nil {
		t.Errorf("get: %q, %v", got, err)
	}
}

func TestLockedSecretService(t *testing.T) {
	for answer, want := range map[string]error{"yes": nil, "no": keyring.ErrLocked, "": keyring.ErrLocked} {
		t.Run("answer "+answer, func(t *testing.T) {
			s := newService(t)
			s.locked, s.answer, s.items["b"] = true, answer, "old"
			k := s.open()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := k.Get(ctx, "b"); !errors.Is(err, keyring.ErrLocked) {
				t.Errorf("get: %v, want ErrLocked", err)
			}
			if err := k.Delete(ctx, "b", false); !errors.Is(err, keyring.ErrLocked) {
				t.Errorf("delete without prompt: %v, want ErrLocked", err)
			}
			s.mu.Lock()
			prompted := slices.Contains(s.methods, "Prompt")
			s.mu.Unlock()
			if prompted {
				t.Error("Get or Delete prompted the user")
			}
			if answer == "" {
				ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
			}
			if err := k.Set(ctx, "a#1", "secret"); !errors.Is(err, want) {
				t.Errorf("set: %v, want %v", err, want)
			}
		})
	}
}

// A call to a service that does not reply ends with its context, and so does every later call.
func TestSilentSecretService(t *testing.T) {
	s := newService(t)
	s.silent = true
	k := s.open()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := k.Get(ctx, "a#1"); err == nil || ctx.Err() == nil {
			t.Errorf("get: %v", err)
		}
		if err := k.Set(ctx, "a#1", "x"); err == nil {
			t.Error("set succeeded")
		}
		cancel()
	}
}

func TestSecretServiceWithoutCollection(t *testing.T) {
	s := newService(t)
	s.missing = true
	if err := s.open().Set(t.Context(), "a", "x"); err == nil || errors.Is(err, keyring.ErrLocked) {
		t.Errorf("set: %v", err)
	}
}

// The real thing, where it is installed.
func TestGnomeKeyring(t *testing.T) {
	for _, program := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", "")
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--print-address")
	address := firstLine(t, bus)
	k := openAt(t, address)
	daemon := exec.CommandContext(t.Context(), "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	daemon.Stdin = strings.NewReader("password")
	firstLine(t, daemon)
	awaitOwner(t, "org.freedesktop.secrets")
	exerciseKeyring(t, k)
}

// awaitOwner waits until a program has a name on the session bus. A call before that would start another daemon, whose
// keyring is locked.
func awaitOwner(t *testing.T, name string) {
	t.Helper()
	bus, err := dbus.SessionBus()
	if err != nil {
		t.Fatalf("connect to the session bus: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for owned := false; !owned; {
		err := bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned)
		if err != nil {
			t.Fatalf("wait for %s: %v", name, err)
		}
	}
}

// firstLine starts a program that runs until the test ends, and returns the first line that it prints.
func firstLine(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("start %s: %v", c.Path, err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read what %s prints: %v", c.Path, err)
	}
	return strings.TrimSpace(line)
}

func TestOpen(t *testing.T) {
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
			k := keyring.Open(func(name string) string { return tt.env[name] })
			if (k != nil) != tt.want {
				t.Errorf("got %v, want a keyring: %v", k, tt.want)
			}
		})
	}
}

func TestSocketWithoutBus(t *testing.T) {
	k := openAt(t, "unix:path="+filepath.Join(t.TempDir(), "missing"))
	if _, err := k.Get(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "%!") {
		t.Errorf("get: %v", err)
	}
}
