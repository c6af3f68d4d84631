package sandbox

import (
	"runtime"
	"testing"
)

// BenchmarkRestrict measures what a confined start costs beyond the start itself.
func BenchmarkRestrict(b *testing.B) {
	p := Policy{Write: []string{b.TempDir()}, Hide: []string{"/root/.ssh", "/root/.aws", "/root/.local/share/cairn"}}
	for b.Loop() {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- p.restrict()
		}()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}
