package process

import (
	"bytes"
	"slices"
	"testing"
)

// An order arrives as it was sent; one that a supervisor could misread is refused.
func TestOrder(t *testing.T) {
	words := []string{"sh", "", "a\nb", "\xff", "A=b"}
	joined, err := joinWords(words)
	if err != nil {
		t.Fatal(err)
	}
	text, err := supervisorOrder{Argv: joined, Dir: []byte("/d\xff"), Mark: 1 << 63}.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := readOrder(bytes.NewReader(text[4:]), uint32(len(text)-4))
	if err != nil || !slices.Equal(splitWords(got.Argv), words) || string(got.Dir) != "/d\xff" || got.Mark != 1<<63 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := joinWords([]string{"A=b\x00LD_PRELOAD=c"}); err == nil {
		t.Error("a NUL byte was accepted")
	}
	for _, text := range []string{`{"policy":{"newer":true}}`, `{"newer":true}`, `{`} {
		if _, err := readOrder(bytes.NewReader([]byte(text)), uint32(len(text))); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	if _, err := readOrder(bytes.NewReader(nil), maxOrder+1); err == nil {
		t.Error("an order that is too long was accepted")
	}
}
