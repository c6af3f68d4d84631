package composer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// maxInterfaces bounds the interfaces of one place that keep their text.
const maxInterfaces = 8

// ClaimDraftFile returns the store of a place for one interface, until Release or the end of the process. The
// first interface has the file itself, others that run at the same time have files beside it. A file with text that an
// interface has left behind comes first. Once maxInterfaces run, the store of the next one keeps nothing, as IsFull
// says.
func ClaimDraftFile(file string) DraftFile {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return NewDraftFile(file) // saving says what is wrong
	}
	var claimed DraftFile
	for n := range maxInterfaces {
		s := DraftFile{file: numberFile(file, n), place: file}
		var err error
		s.unlock, err = tryLock(s.file + ".lock")
		if err == nil {
			s.moveEarlierStash()
		}
		switch {
		case errors.Is(err, context.Canceled): // another interface has it
		case err != nil: // the file system has no locks
			return NewDraftFile(file)
		case s.hasText():
			claimed.Release()
			return s
		case claimed.file == "":
			claimed = s
		default:
			s.unlock()
		}
	}
	claimed.full = claimed.file == ""
	return claimed
}

// IsFull reports whether nothing is kept because maxInterfaces other interfaces of the place run.
func (s DraftFile) IsFull() bool { return s.full }

// Release leaves the file to the next interface of the place.
func (s DraftFile) Release() {
	if s.unlock != nil {
		s.unlock()
	}
}

// numberFile returns the file of the interface with the number, from 0.
func numberFile(file string, n int) string {
	if n == 0 {
		return file
	}
	return strings.TrimSuffix(file, ".json") + "." + strconv.Itoa(n) + ".json"
}

// tryLock locks without waiting. While another process holds the lock, the error is context.Canceled.
func tryLock(path string) (unlock func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return statefile.Lock(ctx, path)
}

func (s DraftFile) hasText() bool {
	return load[Drafts](s.file).Draft != "" || len(s.LoadStash().Texts) > 0
}

// loadHistory returns the earlier prompts of all interfaces of the place, those of this one last.
func (s DraftFile) loadHistory(own []string) []string {
	var all []string
	for n := range maxInterfaces {
		if file := numberFile(s.place, n); file != s.file {
			all = append(all, load[Drafts](file).History...)
		}
	}
	all = slices.DeleteFunc(all, func(h string) bool { return slices.Contains(own, h) })
	return append(all, own...)
}
