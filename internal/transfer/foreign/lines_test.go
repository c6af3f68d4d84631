package foreign

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func utf16Text(order binary.AppendByteOrder, s string) string {
	var b []byte
	for _, c := range utf16.Encode([]rune("\uFEFF" + s)) {
		b = order.AppendUint16(b, c)
	}
	return string(b)
}

// Lines come without their ends, whatever the encoding.
func TestReadLines(t *testing.T) {
	t.Parallel()
	const limit = 70_000
	long := strings.Repeat("x", limit+1)
	for _, c := range []struct {
		name, source string
		want         []Line
	}{
		{"empty", "", nil},
		{"blank lines", "\n a\r\n\n", []Line{{Number: 2, Text: []byte(" a")}}},
		{"a cut end", "a\nb", []Line{{Number: 1, Text: []byte("a")}, {Number: 2, Text: []byte("b"), Cut: true}}},
		{"a byte order mark", "\xEF\xBB\xBFa\n", []Line{{Number: 1, Text: []byte("a")}}},
		{"UTF-16, little", utf16Text(binary.LittleEndian, "aé😀\nb\n"), []Line{
			{Number: 1, Text: []byte("aé😀")}, {Number: 2, Text: []byte("b")},
		}},
		{"UTF-16, big", utf16Text(binary.BigEndian, "a\n"), []Line{{Number: 1, Text: []byte("a")}}},
		{"half a pair, and half a unit", "\xFE\xFF\xD8\x3D\x00a\xD8\x3D\x00", []Line{{Number: 1, Text: []byte("�a��"), Cut: true}}},
		{"not UTF-8", "a\xFFb\n", []Line{{Number: 1, Text: []byte("a�b"), Problem: "the line is not valid UTF-8; it was repaired"}}},
		{"too long", long + "\nb\n", []Line{
			{Number: 1, Problem: "the line is longer than 70000 bytes"}, {Number: 2, Text: []byte("b")},
		}},
	} {
		var got []Line
		if err := readLines(strings.NewReader(c.source), limit, func(l Line) { got = append(got, l) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if err := ReadLines(iotest.ErrReader(iotest.ErrTimeout), func(Line) {}); err == nil {
		t.Error("an error of the reader is lost")
	}
	var one []Line
	_ = ReadLines(iotest.OneByteReader(strings.NewReader(utf16Text(binary.LittleEndian, "a😀"))), func(l Line) { one = append(one, l) })
	if len(one) != 1 || !bytes.Equal(one[0].Text, []byte("a😀")) {
		t.Errorf("bytes one by one: %v", one)
	}
}

// Values of sources become JSON that cairn stores, and odd members cost nothing but themselves.
func TestObject(t *testing.T) {
	t.Parallel()
	o, reason := ParseObject([]byte(`{"a":1,"a":"x\ud800","n":-1,"big":1e300,"s":1700000000,"ms":1700000000123,"f":1700000000.5,"list":[{"b":1},2]}`))
	if reason != "" {
		t.Fatal(reason)
	}
	got := []any{
		o.Text("a"), o.Int("n"), o.Int("big"), o.Time("s"), o.Time("ms"), o.Time("f"), len(o.Objects("list")), o.Text("list"),
		string(o.Rename("a", "z", "missing", "y")["z"]), string(Object(nil).Value()), string(Object{"k": []byte(`{"b":1,"b":2}`)}.Value()),
	}
	want := []any{
		"x�", int64(0), int64(0), int64(1700000000000), int64(1700000000123), int64(1700000000500), 1, "",
		`"x\ud800"`, "{}", `{"k":{"b":2}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for source, want := range map[string]string{
		``: "it is not a JSON object", `{"a":`: "it is cut off", `{"a":x}`: "it is not valid JSON", `{} {}`: "it is not valid JSON",
		`{"a":` + strings.Repeat("[", maxDepth) + `}`: "it is nested too deeply",
	} {
		if _, got := ParseObject([]byte(source)); got != want {
			t.Errorf("%.20s: %q, want %q", source, got, want)
		}
	}
}
