//go:build unix

package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/session"
)

// storedSession lists the events and messages that a whole store returns for one session.
type storedSession struct {
	events   []session.EventID
	messages []session.MessageID
}

// TestDamage damages the database of a real home at random and reads every session through the API. Each history is
// whole or an error, never shorter or different. Transcripts and lists that are shorter, which docs/reliability.md and
// docs/REGRETS.md tell of, are counted; a list that says how many it leaves out is not.
func TestDamage(t *testing.T) {
	trials := 40
	if os.Getenv("CAIRN_SOAK") != "" {
		trials = 1000
	}
	if testing.Short() || raceEnabled {
		trials = 8
	}
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, 4))
	w := newWorld(t, 0)
	c := w.start("")
	ids := w.sessions(4)
	for i := range 12 {
		m := session.MessageID(fmt.Sprintf("msg_damage%d", i))
		prompt := &session.Prompt{Text: fmt.Sprintf("do tok-%d-d", i)}
		if _, err := c.client.Prompt(t.Context(), ids[i%len(ids)], api.PromptRequest{ID: m, Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	w.rest(c)
	whole := map[session.ID]storedSession{}
	for _, id := range ids {
		s, err := readStored(t.Context(), c.client, id)
		if err != nil || len(s.events) == 0 || len(s.messages) == 0 {
			t.Fatal(err, s)
		}
		whole[id] = s
	}
	c.leave()
	file := filepath.Join(w.home, "data", "cairn.db")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var n damageCount
	for i := range trials {
		image := damage(rng, good)
		if err := os.WriteFile(file, image, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"-wal", "-shm"} {
			if err := os.Remove(file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := w.readDamaged(whole, &n); err != nil {
			t.Errorf("seed %d, trial %d: %v", seed, i, err)
		}
	}
	t.Logf("soak: trials=%d failures=%d", trials, n.short)
	t.Logf("%d stores refused, %d sessions whole, %d damaged; %d stores with a short transcript or list",
		n.refused, n.whole, n.damaged, n.short)
	if n.whole == 0 || n.damaged == 0 {
		t.Error("the damage is too small or too large to show anything")
	}
}

// TestDamageOfLog damages the write-ahead log of a killed process at random, cuts it or removes it. Either all sessions
// are whole, or health reports damage and nothing is resumed or written.
func TestDamageOfLog(t *testing.T) {
	trials := 30
	if os.Getenv("CAIRN_SOAK") != "" {
		trials = 500
	}
	if testing.Short() || raceEnabled {
		trials = 8
	}
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, 5))
	w := newWorld(t, 0)
	c := w.start("")
	ids := w.sessions(4)
	for i := range 12 {
		prompt := &session.Prompt{Text: fmt.Sprintf("do tok-%d-d", i)}
		if _, err := c.client.Prompt(t.Context(), ids[i%len(ids)], api.PromptRequest{Prompt: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	w.rest(c)
	whole := map[session.ID]storedSession{}
	for _, id := range ids {
		s, err := readStored(t.Context(), c.client, id)
		if err != nil || len(s.events) == 0 {
			t.Fatal(err, s)
		}
		whole[id] = s
	}
	c.kill()
	images := map[string][]byte{}
	for _, end := range []string{"", "-wal", "-committed"} {
		b, err := os.ReadFile(filepath.Join(w.home, "data", "cairn.db"+end))
		if err != nil {
			t.Fatal(err)
		}
		images[end] = b
	}
	var n damageCount
	for i := range trials {
		if err := w.damageLog(rng, images); err != nil {
			t.Fatal(err)
		}
		if err := w.readDamagedLog(whole, &n); err != nil {
			t.Errorf("seed %d, trial %d: %v", seed, i, err)
		}
	}
	t.Logf("soak: trials=%d failures=%d", trials, n.short)
	t.Logf("%d stores refused, %d sessions whole, %d damaged", n.refused, n.whole, n.damaged)
	if n.damaged+n.refused == 0 {
		t.Error("the damage is too small to show anything")
	}
}

// damageLog brings the files of the killed process back, with a damaged log.
func (w *world) damageLog(rng *rand.Rand, images map[string][]byte) error {
	file := filepath.Join(w.home, "data", "cairn.db")
	errs := []error{os.RemoveAll(file + "-shm"), os.RemoveAll(file + "-wal")}
	for end, b := range images {
		if end == "-wal" {
			at := rng.IntN(len(b))
			switch b = bytes.Clone(b); rng.IntN(8) {
			case 0:
				b = b[:at]
			case 1:
				continue
			default:
				b[at] ^= 1 << rng.IntN(8)
			}
		}
		errs = append(errs, os.WriteFile(file+end, b, 0o600))
	}
	return errors.Join(errs...)
}

// readDamagedLog opens the home. A session that is not as before is an error unless health reports damage.
func (w *world) readDamagedLog(whole map[session.ID]storedSession, n *damageCount) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := host.Host{}.Open(ctx, w.options())
	if err != nil {
		n.refused++
		return nil
	}
	defer func() { _ = c.Close(context.Background()) }() // a damaged store may refuse
	health, err := c.API.Health(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for id, want := range whole {
		got, err := readStored(ctx, c.API, id)
		switch {
		case !health.Healthy:
			n.damaged++
		case err != nil || !cmp.Equal(got.events, want.events) || !cmp.Equal(got.messages, want.messages):
			wrong = append(wrong, fmt.Errorf("%s has %d of %d events, and health reports nothing: %w",
				id, len(got.events), len(want.events), err))
		default:
			n.whole++
		}
	}
	return errors.Join(wrong...)
}

// options are those of a command in this process on the data of the world.
func (w *world) options() client.Options {
	env := func(name string) string {
		return map[string]string{"CAIRN_HOME": w.home, "HOME": w.home, "CAIRN_LOG": "error"}[name]
	}
	return client.Options{Dir: w.work, Env: env, Version: "crash"}
}

// damageCount counts the outcomes.
type damageCount struct{ refused, whole, damaged, short int }

// damage changes bytes of one page, or blanks or replaces a page, or cuts the end off. The header stays: a file that is
// no database is refused as a whole.
func damage(rng *rand.Rand, good []byte) []byte {
	const size = 4096
	b := bytes.Clone(good)
	page := (1 + rng.IntN(len(b)/size-1)) * size
	switch rng.IntN(8) {
	case 0:
		return b[:page+rng.IntN(size)]
	case 1:
		clear(b[page : page+size])
	case 2:
		from := rng.IntN(len(b)/size) * size
		copy(b[page:page+size], good[from:from+size])
	default:
		for range 1 + rng.IntN(8) {
			b[page+rng.IntN(size)] = byte(rng.Uint32())
		}
	}
	return b
}

// readDamaged opens the home and compares what it answers with what the whole store did.
func (w *world) readDamaged(whole map[session.ID]storedSession, n *damageCount) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := host.Host{}.Open(ctx, w.options())
	if err != nil {
		n.refused++
		return nil
	}
	defer func() { _ = c.Close(context.Background()) }() // a damaged store may refuse
	var wrong []error
	short := false
	for id, want := range whole {
		got, err := readStored(ctx, c.API, id)
		switch {
		case err != nil:
			n.damaged++
		case !cmp.Equal(got.events, want.events):
			wrong = append(wrong, fmt.Errorf("%s has %d of %d events, without an error",
				id, len(got.events), len(want.events)))
		case !cmp.Equal(got.messages, want.messages):
			short = true
		default:
			n.whole++
		}
	}
	page, err := c.API.Sessions(ctx, api.SessionQuery{Directory: w.work})
	if err == nil && len(page.Data)+page.Damaged < len(whole) {
		short = true
	}
	if short {
		n.short++
	}
	return errors.Join(wrong...)
}

// readStored reads a session's history and transcript.
func readStored(ctx context.Context, c *api.Client, id session.ID) (s storedSession, err error) {
	for after := int64(-1); ; {
		page, err := c.History(ctx, id, after, 100)
		if err != nil {
			return s, err
		}
		for _, e := range page.Data {
			s.events = append(s.events, e.ID)
			after = e.Seq
		}
		if !page.HasMore {
			break
		}
	}
	page, err := c.Messages(ctx, id, api.MessageQuery{Limit: 200})
	for _, m := range page.Data {
		s.messages = append(s.messages, m.Meta().ID)
	}
	return s, err
}
