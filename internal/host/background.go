package host

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
)

// startBackgroundServer starts `cairn serve --until-idle` without this process's terminal, so that it survives
// both, and returns where it listens. That may take long, as a migration of the store does: the end of ctx ends the
// wait, and the server goes on.
func startBackgroundServer(
	ctx context.Context, dirs config.Directories, o client.Options, arguments []string,
) (l client.Listening, err error) {
	program, err := os.Executable()
	if err != nil {
		return l, err
	}
	// The child outlives the terminal, so it writes its log to a file.
	l.Log = dirs.BackgroundLog()
	log, err := openBackgroundLog(l.Log)
	if err != nil {
		return l, err
	}
	defer log.Close() //nolint:errcheck // the child writes to it
	// The child outlives this command, too: it ignores the cancellation of ctx and is detached.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program,
		slices.Concat([]string{"serve", "--until-idle", "--json"}, arguments)...)
	if o.Sandbox != "" {
		cmd.Args = append(cmd.Args, "--sandbox", string(o.Sandbox))
	}
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = o.Dir, log, detachedAttributes()
	cmd.Env = os.Environ()
	if level := config.Getenv(o.Env, "LOG"); level != "" {
		cmd.Env = append(cmd.Env, "CAIRN_LOG="+level)
	}
	// Remember where the log ends now: a failure quotes only the lines of this child.
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return l, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return l, err
	}
	// The first line of output says where the server listens.
	if err := cmd.Start(); err != nil {
		return l, err
	}
	err = readListening(ctx, out, &l)
	switch {
	case err == nil:
		return l, cmd.Process.Release()
	case ctx.Err() != nil:
		return l, errors.Join(context.Cause(ctx), cmd.Process.Release())
	case !errors.Is(err, io.EOF): // it is no server, and may stay
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait() // its log says more than its exit code
	text, _ := io.ReadAll(io.NewSectionReader(log, begin, 4<<10))
	return l, fmt.Errorf("the background server did not start: %s", cmp.Or(string(text), err.Error()))
}

// readListening reads the line in which a server says where it listens, until ctx ends, and closes the pipe: the server
// prints no more.
func readListening(ctx context.Context, out io.ReadCloser, l *client.Listening) error {
	stop := context.AfterFunc(ctx, func() { _ = out.Close() }) // ends the read
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if stop() {
		_ = out.Close()
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, l)
}

// maxBackgroundLog is the size at which the log begins anew.
const maxBackgroundLog = 1 << 20

func openBackgroundLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() > maxBackgroundLog {
		err = f.Truncate(0)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}
