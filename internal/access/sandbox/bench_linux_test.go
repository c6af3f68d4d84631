package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// BenchmarkRestrict measures what a confined start costs beyond the start itself, beside homes of some sizes: of the
// first command, and of the next ones with a kept ruleset.
func BenchmarkRestrict(b *testing.B) {
	for _, entries := range []int{0, 300, 600} {
		home := b.TempDir()
		p := Policy{Write: []string{b.TempDir()}}
		for i := range entries {
			if err := os.WriteFile(filepath.Join(home, fmt.Sprint(i)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		for _, name := range []string{".ssh", ".aws", ".local/share/cairn"} {
			p.Hide = append(p.Hide, filepath.Join(home, name))
			if err := os.MkdirAll(p.Hide[len(p.Hide)-1], 0o700); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("entries=%d/first", entries), func(b *testing.B) { benchRestrict(b, p, nil) })
		b.Run(fmt.Sprintf("entries=%d/next", entries), func(b *testing.B) { benchRestrict(b, p, &ReadRulesets{}) })
	}
}

func benchRestrict(b *testing.B, p Policy, kept *ReadRulesets) {
	for b.Loop() {
		p := p
		var file *os.File
		if kept != nil {
			var err error
			if file, err = kept.Open(p); err != nil {
				b.Fatal(err)
			}
			p.ReadRuleset = int(file.Fd())
			kept.kept[0].made = time.Now().Add(2 * settleTime) // as if nothing had changed before for long
		}
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- p.RestrictThread()
		}()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		_ = file.Close() // nil for the first command
	}
}
