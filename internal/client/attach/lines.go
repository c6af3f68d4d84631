package attach

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// Lines is a range of the lines of a file, counted from 1. The zero value is the whole file, Last 0 is its end.
type Lines struct{ First, Last int }

// lineSuffix matches the lines behind the name of a file.
var lineSuffix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)#L?(\d{1,7})(-L?(\d{1,7})?)?$`)
})

// CutLines splits the lines from the name of a file: #10-20, #10- or #10, which is one line. Without lines it returns
// the name as it is.
func CutLines(name string) (path string, lines Lines) {
	m := lineSuffix().FindStringSubmatch(name)
	if m == nil {
		return name, Lines{}
	}
	first, _ := strconv.Atoi(m[2]) // digits
	last, _ := strconv.Atoi(m[4])  // digits, or nothing
	if m[3] == "" {
		last = first
	}
	if first == 0 || last != 0 && last < first {
		return name, Lines{}
	}
	return m[1], Lines{first, last}
}

// String returns the lines as they follow the name of a file, "" for the whole file.
func (l Lines) String() string {
	switch {
	case l.First == 0:
		return ""
	case l.Last == 0:
		return fmt.Sprintf("#%d-", l.First)
	case l.Last == l.First:
		return fmt.Sprintf("#%d", l.First)
	}
	return fmt.Sprintf("#%d-%d", l.First, l.Last)
}

// Query returns the lines as the query of a file: URL, which is OpenCode's form.
func (l Lines) Query() string {
	switch {
	case l.First == 0:
		return ""
	case l.Last == 0:
		return fmt.Sprintf("start=%d", l.First)
	}
	return fmt.Sprintf("start=%d&end=%d", l.First, l.Last)
}

// cutText returns the lines of a text; it is an error if the text has fewer.
func (l Lines) cutText(text []byte) ([]byte, error) {
	all := bytes.SplitAfter(text, []byte("\n"))
	if n := len(all); n > 0 && len(all[n-1]) == 0 {
		all = all[:n-1]
	}
	if l.First > len(all) {
		return nil, fmt.Errorf("has %d lines, there is no line %d", len(all), l.First)
	}
	last := len(all)
	if l.Last != 0 {
		last = min(l.Last, last)
	}
	return bytes.Join(all[l.First-1:last], nil), nil
}
