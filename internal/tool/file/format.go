package file

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// FormatterRun is one run of a formatter on a file.
type FormatterRun struct {
	Name string
	Err  error // why it failed; nil if it did not
	Late bool  // it failed because its time was over
}

const (
	maxFormatDiff = 4 << 10          // bytes of what a formatter changed that are shown to the model
	formatTime    = 30 * time.Second // of all formatters of a call
)

// formatAll formats the files of a change that was written. What the formatters change becomes a part of the change: it
// is recorded, and the result shows it. After a failed run the file is as the call wrote it, and after one that took too
// long no other file is formatted. Nothing here fails the change.
func (s *fileTools) formatAll(ctx context.Context, call tool.Call, c *change) {
	if s.config.Format == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, formatTime)
	defer cancel()
	for _, st := range c.steps {
		if st.removed {
			continue
		}
		runs := s.config.Format(limited, st.path.Real)
		if len(runs) == 0 {
			continue
		}
		last := runs[len(runs)-1]
		if last.Err != nil {
			c.message += fmt.Sprintf("\nThe formatter %s failed on %s, which is as you wrote it: %v", last.Name,
				st.path.Abs, last.Err)
		}
		if err := s.takeFormatted(ctx, call, c, st, last); err != nil {
			says := fmt.Sprintf("he formatter %s may have left %s changed: %v", last.Name, st.path.Abs, err)
			c.message += "\nT" + says
			if call.Files != nil { // an undo cannot take it back, and says so
				call.Files.RecordUnknown(context.WithoutCancel(ctx), "t"+says)
			}
		}
		if last.Late && len(c.steps) > 1 {
			c.message += "\nThe files after it are not formatted."
			return
		}
	}
}

// takeFormatted makes what the formatters wrote to the file of the step a part of the change, or writes the step's
// content again if the last run failed.
func (s *fileTools) takeFormatted(
	ctx context.Context, call tool.Call, c *change, st *fileStep, last FormatterRun,
) error {
	// Read what is there now. A link in place of the file, also a hard one, would bring in the content of another file.
	at, err := s.config.Paths.Resolve(st.path.Abs)
	if err != nil {
		return err
	}
	if at.Real != st.path.Real || fileattr.CountLinks(at.Info) > max(1, fileattr.CountLinks(st.before.info)) {
		return tool.Failf("a link to another file is there")
	}
	now, err := readState(at)
	if err != nil {
		return err
	}
	if now.info == nil {
		return tool.Failf("it is gone")
	}
	if now, err = restoreExecutable(st, at, now); err != nil {
		return err
	}
	if bytes.Equal(now.data, st.after) {
		s.noteWritten(call.SessionID, c, st, now)
		return nil
	}
	// A failed formatter may have left half of a file.
	if last.Err != nil {
		infos, err := saveAll([]*fileStep{{path: at, before: now, after: st.after}})
		if err == nil {
			s.noteWritten(call.SessionID, c, st, fileState{infos[0], st.after})
		}
		return err
	}
	// Record the difference as a second write of the call.
	second := change{steps: []*fileStep{{path: at, before: fileState{now.info, st.after}, after: now.data}}}
	if err := second.recordWrites(context.WithoutCancel(ctx), call.Files); err != nil {
		return err
	}
	diff := unifiedDiff(st.path.Abs, st.after, now.data)
	st.after = now.data
	s.noteWritten(call.SessionID, c, st, now)
	c.describeFormatted(st, diff)
	if workpath.IsBinary(now.data) {
		c.message += fmt.Sprintf("\n%s made %s a binary file, which is not shown.", last.Name, st.path.Abs)
		return nil
	}
	body := diffBody(diff)
	shown := truncateLines(body, maxFormatDiff)
	if len(shown) < len(body) {
		shown += "(The rest is not shown.)"
	}
	c.message += fmt.Sprintf("\n%s formatted %s after the change:\n%s", last.Name, st.path.Abs, strings.TrimRight(shown, "\n"))
	return nil
}

// restoreExecutable makes the file executable, or not, as the call wrote it: an undo takes a file of another mode for
// changed by others.
func restoreExecutable(st *fileStep, at workpath.Path, now fileState) (fileState, error) {
	written := st.template
	if st.before.info != nil {
		written = st.before.info
	}
	was, is := written != nil && written.Mode()&0o111 != 0, now.info.Mode()&0o111 != 0
	if was == is {
		return now, nil
	}
	mode := now.info.Mode().Perm() &^ 0o111
	if was {
		mode |= written.Mode().Perm() & 0o111
	}
	if err := os.Chmod(at.Real, mode); err != nil {
		return now, err
	}
	return readState(at)
}

// noteWritten records that the session has seen the content of the step as it is on disk.
func (s *fileTools) noteWritten(id session.ID, c *change, st *fileStep, now fileState) {
	seen := fingerprintOf(now.info, computeDigest(now.data))
	s.config.Tracker.recordSeen(id, st.path.Real, snapshot{seen, now.data})
	c.seen[st.path.Real] = seen.String()
}

// describeFormatted shows what formatters changed in the diffs of the change. A patch shows it in its last section that
// names the file.
func (c *change) describeFormatted(st *fileStep, diff string) {
	if c.files == nil {
		c.diff = st.formatDiff()
		return
	}
	c.diff += diff + "\n"
	for i := len(c.files) - 1; i >= 0; i-- {
		f := &c.files[i]
		if f.RelativePath != st.path.Title() {
			continue
		}
		if f.Type != "move" {
			f.Patch = truncateLines(st.formatDiff(), maxDiff)
			f.Additions, f.Deletions = countChangedLines(f.Patch)
		}
		return
	}
}
