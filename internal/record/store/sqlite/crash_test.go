package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	crashChild   = "CAIRN_TEST_CRASH_DIR"
	crashMutant  = "CAIRN_TEST_CRASH_MUTANT" // acknowledge before the commit
	crashWorkers = 4
)

// crashWriter is the child: it commits until it is killed, and says on standard output what was acknowledged.
func crashWriter(dir string) {
	fail := func(err error) {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	if err := fault.FromEnvironment(); err != nil {
		fail(err)
	}
	if _, err := AcquireLease(dir, Owner{}); err != nil {
		fail(err)
	}
	s, err := Open(context.Background(), Config{Dir: dir})
	if err != nil {
		fail(err)
	}
	if s.DegradedError() != nil {
		fail(s.DegradedError())
	}
	var all sync.WaitGroup
	for w := range crashWorkers {
		all.Go(func() {
			for i := 0; ; i++ {
				early := func(int64) {}
				if os.Getenv(crashMutant) != "" {
					early = func(seq int64) { fmt.Printf("%d %d\n", w, seq) }
				}
				seq, err := crashUpdate(s, w, store.Durability(i%2), early)
				if err != nil {
					fail(err)
				}
				fmt.Printf("%d %d\n", w, seq) // one write, unbuffered
			}
		})
	}
	all.Wait()
}

// crashUpdate appends two events and writes the rows that follow from them, all in one transaction. It calls early
// before the commit.
func crashUpdate(s store.Store, w int, d store.Durability, early func(seq int64)) (seq int64, err error) {
	id := session.ID(fmt.Sprintf("ses_%d", w))
	err = s.Update(context.Background(), d, func(tx store.Tx) error {
		head, err := tx.Head(id)
		if err != nil {
			return err
		}
		seq = head + 2
		for _, next := range []int64{head + 1, head + 2} {
			if _, err := tx.InsertEvent(testEvent(id, next)); err != nil {
				return err
			}
		}
		m := &session.User{
			Head: session.Head{
				ID: session.MessageID(fmt.Sprintf("msg_%d_%d", w, seq)), Type: session.TypeUser, Seq: seq,
			},
		}
		if err := tx.PutMessage(id, m, nil, 0); err != nil {
			return err
		}
		early(seq)
		return tx.PutSession(&session.Session{ID: id, Title: fmt.Sprint(seq)})
	})
	return seq, err
}

// times scales the figure of CI: much less with -short, less where the race detector makes everything slow, more where
// CAIRN_SOAK asks for it.
func times(n int) int {
	switch {
	case testing.Short():
		return n / 20
	case os.Getenv("CAIRN_SOAK") != "":
		return n * 20
	case raceEnabled:
		return n / 8
	default:
		return n
	}
}

// seedOr returns the seed of CAIRN_SEED, else n.
func seedOr(n uint64) uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("CAIRN_SEED"), 10, 64); err == nil {
		return seed
	}
	return n
}

// Whatever was acknowledged is there after SIGKILL, Durable or Relaxed, and every transaction is whole (G1, G3).
func TestKills(t *testing.T) {
	kills := times(1000)
	begun, acks := time.Now(), [2]int{}
	var lanes sync.WaitGroup
	for lane := range acks {
		lanes.Go(func() {
			rng := rand.New(rand.NewPCG(2*seedOr(0)+uint64(lane), 3))
			var k *killed
			for i := range kills / len(acks) {
				if i%100 == 0 {
					k = &killed{t: t, dir: t.TempDir(), acked: map[int]int64{}}
				}
				acks[lane] += k.round(rng)
				if k.wrong != nil {
					t.Errorf("kill %d of lane %d: %q", i, lane, k.wrong)
					return
				}
			}
		})
	}
	lanes.Wait()
	t.Logf("soak: trials=%d failures=0", kills) // a failure fails the test
	t.Logf(
		"%d kills, %d acknowledged transactions, %v", kills, acks[0]+acks[1],
		time.Since(begun).Round(time.Millisecond),
	)
}

// The test can see what it looks for: what is acknowledged before the commit is lost.
func TestKillsFindTheMutant(t *testing.T) {
	t.Setenv(crashMutant, "1")
	k := &killed{t: t, dir: t.TempDir(), acked: map[int]int64{}}
	rng := rand.New(rand.NewPCG(9, 3))
	for i := 0; k.wrong == nil; i++ {
		if i == 200 {
			t.Fatal("200 kills found nothing")
		}
		k.round(rng)
	}
	t.Logf("%q", k.wrong)
}

// killed is a folder whose owners are killed, one after the other.
type killed struct {
	t     *testing.T
	dir   string
	acked map[int]int64 // the newest acknowledged seq of each worker
	wrong []string      // what was found
}

func (k *killed) found(format string, args ...any) {
	k.wrong = append(k.wrong, fmt.Sprintf(format, args...))
}

// round starts a child, kills it at a random time or lets it kill itself at a random point, and looks at what is left.
func (k *killed) round(rng *rand.Rand) (acks int) {
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Duration(rng.IntN(40))*time.Millisecond)
	env := []string{crashChild + "=" + k.dir}
	if rng.IntN(2) == 0 {
		points := []fault.Name{fault.StorePreCommit, fault.StorePostCommit, fault.StorePreAnswer}
		env = append(env, fmt.Sprintf("%s=%s#%d=kill", fault.Variable, points[rng.IntN(3)], 1+rng.IntN(30)))
		cancel()
		ctx, cancel = context.WithTimeout(k.t.Context(), 10*time.Second)
	}
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.Output() // it is always killed
	for line := range bytes.Lines(out) {
		var w int
		var seq int64
		if bytes.HasPrefix(line, []byte("error:")) {
			k.found("the child says %s", line)
		}
		if n, _ := fmt.Sscanf(string(line), "%d %d\n", &w, &seq); n == 2 && line[len(line)-1] == '\n' {
			k.acked[w] = max(k.acked[w], seq)
			acks++
		}
	}
	k.check()
	return acks
}

func (k *killed) check() {
	s, err := Open(k.t.Context(), Config{Dir: k.dir})
	if err != nil {
		k.found("%v", err)
		return
	}
	defer s.Close()
	if s.DegradedError() != nil {
		k.found("%v", s.DegradedError())
	}
	err = s.View(k.t.Context(), func(r store.Reader) error {
		for w := range crashWorkers {
			if err := k.checkWorker(r, w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		k.found("%v", err)
	}
}

func (k *killed) checkWorker(r store.Reader, w int) error {
	id := session.ID(fmt.Sprintf("ses_%d", w))
	head, err := r.Head(id)
	if err != nil {
		return err
	}
	if want, ok := k.acked[w]; ok && head < want {
		k.found("worker %d: head is %d, %d was acknowledged", w, head, want)
	}
	if head < 0 {
		return nil
	}
	rows, err := r.Events(id, max(head-200, 0)-1, 0) // checks that none is missing or damaged
	if err != nil {
		return err
	}
	x, _, err := r.Session(id)
	if err != nil {
		return err
	}
	m, _, err := store.NewestMessage(r, id, session.TypeUser)
	if err != nil {
		return err
	}
	if head%2 != 1 || x == nil || x.Title != fmt.Sprint(
		head,
	) || m == nil || m.Meta().Seq != head || rows[len(rows)-1].Seq != head {
		k.found("worker %d: half a transaction: head %d, session %v, message %v", w, head, x, m)
	}
	return nil
}
