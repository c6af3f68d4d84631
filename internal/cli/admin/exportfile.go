package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// pipePatience bounds the wait for the reader of a pipe to read the end of an export.
const pipePatience = 10 * time.Second

// writeOutput calls write with the file, or with the standard output. The file is there whole, under its name, or not
// at all. An output that is closed before the end is an error with a message: what was read until then must not pass for
// the export.
func (g transferCommands) writeOutput(name string, write func(io.Writer) (int, error)) (left int, err error) {
	if name != "" {
		path, err := g.inv.ResolvePath(name)
		if err != nil {
			return 0, err
		}
		return writeFile(path, write)
	}
	if left, err = writeBuffered(g.inv.Out.JSON(), write); err == nil {
		err = terminal.AwaitPipe(g.inv.Stdout, pipePatience)
	}
	if errors.Is(err, syscall.EPIPE) {
		return left, cli.NewExitError(cli.ExitFailure,
			errors.New("the standard output was closed before the export was complete"),
			"What was read from it is not a whole export; -o FILE writes a file that is whole or not there.")
	}
	return left, err
}

func writeBuffered(to io.Writer, write func(io.Writer) (int, error)) (left int, err error) {
	w := bufio.NewWriterSize(to, 64<<10)
	if left, err = write(w); err != nil {
		return left, err
	}
	return left, w.Flush()
}

// writeFile writes to a new file beside the path, which it becomes when everything is on disk. Only its user can read
// it. Of a link it is the file that the link names.
func writeFile(path string, write func(io.Writer) (int, error)) (left int, err error) {
	if path, err = statefile.ResolveLink(path); err != nil {
		return 0, cli.UsageErrorf("cannot write: %v", err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return 0, cli.UsageErrorf("%s is not a regular file; to write to it, leave out -o and redirect the output", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return 0, cli.UsageErrorf("cannot write %s: %v", path, err)
	}
	left, err = writeBuffered(f, write)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error before it counts
		return left, fmt.Errorf("write %s: %w", path, err)
	}
	return left, nil
}

// previewExport prints what an export would remove or replace, and writes no session.
func (g transferCommands) previewExport(ctx context.Context, o *exportOptions, sessions []*session.Session) error {
	if _, err := o.write(ctx, io.Discard, sessions); err != nil {
		return err
	}
	found := o.ListReplacements()
	if g.inv.JSON {
		body, err := json.Marshal(struct {
			Replacements []transfer.Replacement `json:"replacements"`
		}{found}, json.Deterministic(true))
		if err != nil {
			return err
		}
		_, err = g.inv.Out.JSON().Write(append(body, '\n'))
		return err
	}
	if len(found) == 0 {
		g.inv.Err.Printf("Nothing would be removed or replaced.\n")
		return nil
	}
	width := len("KIND")
	for _, r := range found {
		width = max(width, len(r.Kind))
	}
	g.inv.Err.Printf("%-*s  %7s  %s\n", width, "KIND", "COUNT", "THE FIRST ONE")
	for _, r := range found {
		line := fmt.Sprintf("%-*s  %7s  ", width, r.Kind, strconv.Itoa(r.Count))
		g.inv.Err.WriteText(line)
		g.inv.Err.WriteText(strings.TrimSpace(r.Excerpt) + "\n")
	}
	g.inv.Err.Printf("Nothing was exported.\n")
	return nil
}
