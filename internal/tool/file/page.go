package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// maxCounted bounds the files whose lines are counted to the end.
const maxCounted = 64 << 20

// page is a range of the lines of a file.
type page struct {
	first       int      // number of the first line; 1 is the first of the file
	lines       []string // without line ends
	capped      bool     // maxPageBytes was reached before the line limit
	total       int64    // lines of the file; -1 if the file is too long to count them
	sum         digest
	whole       []byte // the content of a small file
	fingerprint fingerprint
	isUnsaved   bool // the lines are those of an editor, which are not in the file
}

// pageSource is what a page is read from.
type pageSource struct {
	name    string
	content io.Reader
	size    int64 // bytes
}

// readPage reads the lines that in asks for, and the rest of the file for its line count and its digest. A file that is
// too large to be changed gets no digest, because computing it takes most of the time.
func readPage(ctx context.Context, f pageSource, in readInput) (page, error) {
	// Digest and keep the bytes while they are read, so that a file is read once only.
	hash := sha256.New()
	var whole headBuffer
	from := f.content
	if f.size <= maxEdited {
		from = io.TeeReader(f.content, io.MultiWriter(hash, &whole))
	}
	// Skip the lines before the page.
	r := bufio.NewReaderSize(from, 64<<10)
	p := page{first: in.Offset}
	line, err := skipLines(ctx, r, int64(in.Offset)-1)
	if err != nil {
		return p, fmt.Errorf("read %s: %w", f.name, err)
	}
	// Collect the page until it is full by lines or by bytes; then only count the lines that follow.
	size, full := 0, false
	for {
		// Look for an interruption every 4096 lines.
		if line&0xfff == 0 && ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return p, fmt.Errorf("read %s: %w", f.name, err)
		}
		line++
		// Counting the rest of a very large file takes too long: its line count is unknown.
		if full && f.size > maxCounted {
			p.total = -1
			return p, nil
		}
		if full {
			continue
		}
		shown := formatLine(text, line == 1)
		// The first line is always shown, even if it alone is too long for the page.
		size2 := size + len(fmt.Sprintf("%d: %s\n", line, shown))
		if size2 > maxPageBytes && len(p.lines) > 0 {
			p.capped, full = true, true
			continue
		}
		p.lines, size = append(p.lines, shown), size2
		full = len(p.lines) == in.Limit
	}
	// The end was reached, so the count is exact and the digest is that of the whole file.
	p.total = line
	if f.size <= maxEdited {
		p.sum, p.whole = digest(hash.Sum(nil)), whole.data
	}
	return p, nil
}

// skipLines skips want lines, or all lines if there are fewer, and returns how many it skipped. It only counts
// newlines, so it is about as fast as the disk.
func skipLines(ctx context.Context, r *bufio.Reader, want int64) (passed int64, err error) {
	within := false // a line without its end was read
	// Each round skips what is buffered, or the part of it that ends with the last line to skip.
	for passed < want {
		if ctx.Err() != nil {
			return passed, context.Cause(ctx)
		}
		_, err := r.Peek(1)
		switch {
		case errors.Is(err, io.EOF) && within:
			return passed + 1, nil
		case errors.Is(err, io.EOF):
			return passed, nil
		case err != nil:
			return passed, err
		}
		p, _ := r.Peek(r.Buffered()) // cannot fail: the bytes are buffered
		if here := int64(bytes.Count(p, []byte{'\n'})); passed+here < want {
			passed += here
		} else {
			end := 0
			for ; passed < want; passed++ {
				end += bytes.IndexByte(p[end:], '\n') + 1
			}
			p = p[:end]
		}
		within = p[len(p)-1] != '\n'
		_, _ = r.Discard(len(p)) // cannot fail: the bytes are buffered
	}
	return passed, nil
}

// maxLineKept is the bytes of a line that are read: more than maxLineRunes characters of any width.
const maxLineKept = 4*maxLineRunes + 4

// readLine returns the next line without its end, and at most maxLineKept bytes of it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < maxLineKept {
			line = append(line, part[:min(len(part), maxLineKept-len(line))]...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

// formatLine returns a line as the model sees it: valid UTF-8, cut at maxLineRunes, and without the byte order mark of
// the file's first line.
func formatLine(line []byte, first bool) string {
	if first {
		line = bytes.TrimPrefix(line, []byte(workpath.BOM))
	}
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	short, cut := workpath.CutRunes(text, maxLineRunes)
	if cut {
		return short + fmt.Sprintf("... (line cut at %d characters)", maxLineRunes)
	}
	return text
}

// formatOutput returns the page as a result. The model receives the instruction files of the reminder with its system
// context, since it obeys nothing that stands in the result of a tool.
func (p page) formatOutput(call tool.Call, at workpath.Path, reminder string, loaded []string) tool.Output {
	last := p.first + len(p.lines) - 1
	text := strings.Join(p.lines, "\n")
	var b strings.Builder
	b.Grow(len(text) + 8*len(p.lines) + 256)
	b.WriteString("<path>" + at.Abs + "</path>\n<type>file</type>\n<content>\n")
	for i, l := range p.lines {
		fmt.Fprintf(&b, "%d: %s\n", p.first+i, l)
	}
	more := p.total < 0 || int64(last) < p.total
	b.WriteString("\n" + p.formatFooter(last, more) + "\n</content>")
	out := tool.TextOutput(at.Title(), tool.MarkImitations(call, at.Abs, b.String()), readInfo{
		Preview: strings.Join(p.lines[:min(len(p.lines), previewLines)], "\n"), Truncated: more, Loaded: loaded,
		Reminder: reminder,
		Seen:     fingerprints{at.Real: p.fingerprint.String()},
		Display: pageDisplay{
			Type: "file", Path: at.Abs, LineStart: p.first, LineEnd: last, TotalLines: max(p.total, 0), Truncated: more,
		},
	})
	out.Visited = []string{at.Real}
	return out
}

func (p page) formatFooter(last int, more bool) string {
	footer := p.formatPosition(last, more)
	if p.isUnsaved {
		footer += "\n(The user has changes of this file in an editor that are not saved. They are shown here; a change by a " +
			"tool is one of the file as it is on the disk.)"
	}
	return footer
}

func (p page) formatPosition(last int, more bool) string {
	switch {
	case p.capped:
		return fmt.Sprintf("(Output capped at 50 KB. Showing lines %d-%d. Use offset=%d to continue.)", p.first, last, last+1)
	case more && p.total < 0:
		return fmt.Sprintf("(Showing lines %d-%d of a long file. Use offset=%d to continue.)", p.first, last, last+1)
	case more:
		return fmt.Sprintf("(Showing lines %d-%d of %d. Use offset=%d to continue.)", p.first, last, p.total, last+1)
	default:
		return fmt.Sprintf("(End of file - total %d lines)", p.total)
	}
}

func formatDirFooter(first, last, total int, more bool) string {
	switch {
	case last < total && more:
		return fmt.Sprintf(
			"(Showing entries %d-%d of more than %d. Use offset=%d to continue, or glob to find what you need.)", first, last,
			total, last+1,
		)
	case last < total:
		return fmt.Sprintf("(Showing entries %d-%d of %d. Use offset=%d to continue.)", first, last, total, last+1)
	case more:
		return fmt.Sprintf("(The first %d entries; there are more. Use glob to find what you need.)", total)
	default:
		return fmt.Sprintf("(%d %s)", total, workpath.ChoosePlural(total, "entry", "entries"))
	}
}

// readSample returns the beginning of a file and seeks back to its start.
func readSample(f *os.File) ([]byte, error) {
	sample := make([]byte, 4096)
	n, err := io.ReadFull(f, sample)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return sample[:n], nil
}

// binaryTypes are extensions of binary files whose beginning may look like text.
const binaryTypes = " .zip .tar .gz .exe .dll .so .class .jar .war .7z .doc .docx " +
	".xls .xlsx .ppt .pptx .odt .ods .odp .bin .dat .obj .o .a .lib .wasm .pyc .pyo "

// binaryReason returns why a file is not text, "" if it is.
func binaryReason(path string, sample []byte) string {
	ext := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	if len(sample) > 0 && strings.Contains(binaryTypes, " ."+ext+" ") {
		return "by its name"
	}
	odd := 0
	for i, c := range sample {
		if c == 0 {
			return fmt.Sprintf("a NUL byte at offset %d", i)
		}
		if c < 9 || c > 13 && c < 32 {
			odd++
		}
	}
	if len(sample) > 0 && odd*10 > len(sample)*3 {
		return "mostly control characters"
	}
	return ""
}
