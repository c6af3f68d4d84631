package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// The write-ahead log is a header and frames, each of them a header and a page
// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). A frame belongs to the log if its salt is that of the
// log and its checksum continues that of the frame before.
const (
	logHeaderSize   = 32
	frameHeaderSize = 24
	logMagic        = 0x377f0682 // of checksums over little-endian words; +1 over big-endian ones
	logVersion      = 3007000
)

// rejoinLog removes the broken frames from a log, so that SQLite reads those behind them, too. A frame is whole if its
// checksum continues the one that is stored in the frame before. A page whose newest frame is removed is as an older
// frame, or the database, has it.
//
// The checksums of a log form a chain, so the remaining frames get new ones, under a new header with the same salt.
func rejoinLog(path string) error {
	b, err := os.ReadFile(path)
	if err != nil || len(b) < logHeaderSize+frameHeaderSize {
		return err
	}
	// Read the header; each value that cannot be right is replaced.
	size := int(binary.BigEndian.Uint32(b[8:]))
	if size < 512 || size > 65536 || size&(size-1) != 0 {
		size = pageSize
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if binary.BigEndian.Uint32(b) == logMagic+1 {
		order = binary.BigEndian
	}
	frames := b[logHeaderSize:]
	salt := b[16:24]
	if s := (logSum{}); s.add(order, b[:24]) != readSum(b[24:]) { // the header is broken: the first frame has the salt
		salt = frames[8:16]
	}
	// Write a new header.
	out := binary.BigEndian.AppendUint32(nil, logMagic)
	out = binary.BigEndian.AppendUint32(out, logVersion)
	out = binary.BigEndian.AppendUint32(out, uint32(size))
	out = append(append(out, b[12:16]...), salt...)
	sum := logSum{}.add(binary.LittleEndian, out)
	out = sum.append(out)
	// Copy the whole frames.
	stored := readSum(b[24:])
	for ; len(frames) >= frameHeaderSize+size; frames = frames[frameHeaderSize+size:] {
		head, page := frames[:frameHeaderSize], frames[frameHeaderSize:frameHeaderSize+size]
		want := stored.add(order, head[:8]).add(order, page)
		if stored = readSum(head[16:]); stored != want || !bytes.Equal(head[8:16], salt) {
			continue
		}
		sum = sum.add(binary.LittleEndian, head[:8]).add(binary.LittleEndian, page)
		out = append(out, head[:16]...)
		out = append(sum.append(out), page...)
	}
	return os.WriteFile(path, out, 0o600)
}

// countCommits returns how many frames of a log end a transaction, whether or not the frames are whole; 0 if there is no
// log.
func countCommits(path string) (n int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	defer f.Close()
	var head [frameHeaderSize]byte
	for at := int64(logHeaderSize); ; at += frameHeaderSize + pageSize {
		if _, err := f.ReadAt(head[:], at); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if binary.BigEndian.Uint32(head[4:]) != 0 { // the size of the database after the commit
			n++
		}
	}
}

// logSum is the running checksum of a log.
type logSum struct{ a, b uint32 }

func readSum(b []byte) logSum {
	return logSum{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// add returns the checksum after more data, whose length is a multiple of 8.
func (s logSum) add(order binary.ByteOrder, data []byte) logSum {
	for ; len(data) >= 8; data = data[8:] {
		s.a += order.Uint32(data) + s.b
		s.b += order.Uint32(data[4:]) + s.a
	}
	return s
}

func (s logSum) append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, s.a), s.b)
}
