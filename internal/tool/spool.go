package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cairn-dev/cairn/internal/session"
)

const (
	spoolStep    = 16 << 20 // bytes between two checks of the disk
	spoolMinimum = 1 << 20  // bytes that a file may take however full the disk is
)

// spool is the managed file of one capture. It stores the whole text if it may; else the beginning, a note and the end.
// It never exceeds the bounds of Outputs.
type spool struct {
	outputs *Outputs
	file    *os.File
	ending  int64  // bytes reserved for the note and the end
	stored  int64  // bytes in file
	counted int64  // bytes of stored that Outputs has counted
	bound   int64  // end of the beginning, as of the last check
	next    int64  // value of stored at which to check again
	full    string // why the file takes no more of the beginning; "" while it does
}

// newSpool creates the file of the session. The end has at most ending bytes, including the note.
func (o *Outputs) newSpool(id session.ID, ending int) (*spool, error) {
	f, err := o.createFile(id)
	if err != nil {
		return nil, err
	}
	return &spool{outputs: o, file: f, ending: int64(ending)}, nil
}

func (s *spool) path() string { return s.file.Name() }

// write adds as much of p to the beginning as fits. An error means that the file was removed.
func (s *spool) write(p []byte) error {
	for len(p) > 0 && s.full == "" {
		if s.stored >= s.next {
			s.updateBound()
		}
		part := p[:min(int64(len(p)), s.next-s.stored)]
		if left := s.bound - s.stored; int64(len(part)) > left {
			part = part[:runeBefore(part, int(max(left, 0)))]
			s.full = s.fullReason()
		}
		if err := s.writeFull(part); err != nil {
			return s.handleFull(err)
		}
		p = p[len(part):]
	}
	return nil
}

// updateBound reports the stored bytes to Outputs and computes the bound.
func (s *spool) updateBound() {
	s.outputs.countWritten(context.Background(), s.stored-s.counted)
	s.counted = s.stored
	s.next = s.stored + spoolStep
	s.bound = s.outputs.maxFile() - s.ending
	if free, ok := freeSpace(s.file); ok {
		disk := max(s.stored+free-s.outputs.reservedSpace(s.file)-s.ending, spoolMinimum)
		s.bound = min(s.bound, disk)
	}
}

// fullReason returns the reason why the bound was reached.
func (s *spool) fullReason() string {
	if most := s.outputs.maxFile(); s.bound == most-s.ending {
		return fmt.Sprintf("a file of output holds at most %d bytes, see limits.output", most)
	}
	return "the disk has too little space left"
}

// handleFull makes room for the end after the disk refused a write. If that fails, it removes the file.
func (s *spool) handleFull(err error) error {
	s.full = "the disk took no more"
	back := max(s.stored-s.ending, 0)
	if err := errors.Join(s.file.Truncate(back), seek(s.file, back)); err == nil {
		s.stored = back
		return nil
	}
	s.remove()
	return err
}

func seek(f *os.File, offset int64) error {
	_, err := f.Seek(offset, io.SeekStart)
	return err
}

func (s *spool) writeFull(p []byte) error {
	n, err := s.file.Write(p)
	s.stored += int64(n)
	return err
}

// finish writes the missing end of a text of the given length and closes the file. missing is the number of bytes that
// are neither in the file nor in end. An error means that the file was removed.
func (s *spool) finish(ctx context.Context, bytes int64, end []byte) (missing int64, err error) {
	rest := bytes - s.stored
	missing = max(rest-int64(len(end)), 0)
	if missing > 0 {
		err = s.writeFull([]byte(fileNote(missing, s.full)))
	}
	err = errors.Join(err, s.writeFull(end[max(int64(len(end))-rest, 0):]), s.file.Close())
	if err != nil {
		s.remove()
		return bytes, err
	}
	s.outputs.releaseFile(s.path())
	s.outputs.countWritten(ctx, s.stored-s.counted)
	return missing, nil
}

func (s *spool) remove() {
	_ = s.file.Close()
	_ = os.Remove(s.path())
	s.outputs.releaseFile(s.path())
}

func fileNote(missing int64, why string) string {
	return fmt.Sprintf("\n\n[%d bytes were not kept here: %s.]\n\n", missing, why)
}
