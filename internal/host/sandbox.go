package host

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/cell"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkSandbox fails if the command line asks for a sandbox that this system cannot provide.
func checkSandbox(o client.Options) error {
	if err := o.Sandbox.Check("--sandbox"); err != nil || !o.Sandbox.IsConfined() {
		return err
	}
	if err := cell.CheckMode(o.Sandbox); err != nil {
		return session.Errorf(session.CodeInvalid, "this system has no sandbox of the mode %s: %v", o.Sandbox, err).
			At("sandbox")
	}
	return nil
}

// removeUnusedCaches removes the caches of projects without a command for long.
func (w *owner) removeUnusedCaches(now time.Time) {
	if w.lease == nil || w.locations == nil {
		return
	}
	if err := cell.RemoveUnusedCaches(w.dirs, now); err != nil {
		w.logger.Warn("caches of commands could not be removed", "error", err)
	}
}

// removeScratch removes the temporary files of commands of this owner and of earlier ones.
func (w *owner) removeScratch() {
	if w.lease.Check() != nil || w.locations == nil {
		return
	}
	if err := os.RemoveAll(cell.ScratchDir(w.dirs)); err != nil {
		w.logger.Warn("temporary files of commands could not be removed", "error", err)
	}
}

// sandboxNoteFile is in the state directory once people were told that there is no sandbox.
const sandboxNoteFile = "no-sandbox-noted"

// noteMissingSandbox says once for each home that commands are not confined here, if check says why.
func noteMissingSandbox(state string, o client.Options, check func() error) {
	why := check()
	path := filepath.Join(state, sandboxNoteFile)
	if _, err := os.Stat(path); why == nil || err == nil || o.Note == nil {
		return
	}
	o.Note(fmt.Sprintf("commands of the model are not confined on this system: the sandbox cannot be used (%v). "+
		"They ask before they run, unless a rule or an approval allows them", why))
	if err := os.MkdirAll(state, 0o700); err == nil {
		_ = os.WriteFile(path, nil, 0o600) // else it is said again
	}
}
