//go:build unix

package crashtest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// newSeed returns the seed of a random trial and logs it: CAIRN_SEED repeats one.
func newSeed(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("CAIRN_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return seed
}
