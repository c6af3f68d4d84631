//go:build !windows && !darwin

package keyring_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/cairn-dev/cairn/internal/keyring"
)

// A bus that never stops talking is not listened to for long: what a call takes of it is bounded.
func TestBusThatFloods(t *testing.T) {
	signal := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(prompt), dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.Secret.Prompt"),
		dbus.FieldMember: dbus.MakeVariant("Completed"), dbus.FieldSender: dbus.MakeVariant(":1.9"),
		dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf("")),
	}, Body: []any{strings.Repeat("x", 60_000)}}
	var raw bytes.Buffer
	if err := signal.EncodeTo(&raw, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(raw.Bytes()[8:], 1) // the library numbers what it sends itself
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const enough = 64 << 20
	var said atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for {
			line, err := in.ReadString('\n')
			if err != nil || strings.HasPrefix(line, "BEGIN") {
				break
			}
			answer := "ERROR\r\n"
			if strings.Contains(line, "AUTH EXTERNAL") {
				answer = "OK 0123456789abcdef0123456789abcdef\r\n"
			} else if strings.Contains(line, "AUTH") {
				answer = "REJECTED EXTERNAL\r\n"
			}
			_, _ = io.WriteString(c, answer)
		}
		for said.Load() < enough {
			n, err := c.Write(raw.Bytes())
			if said.Add(int64(n)); err != nil {
				return
			}
		}
	}()
	ring := keyring.System(func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[name] })
	if _, err := ring.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "says more") {
		t.Errorf("got %v", err)
	}
	<-done
	if said.Load() > 4<<20 {
		t.Errorf("%d bytes were listened to", said.Load())
	}
}
