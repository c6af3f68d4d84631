package statefile_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/statefile"
)

func TestCheckVersion(t *testing.T) {
	const newer = "f was written by a newer cairn: version "
	for text, want := range map[string]string{
		``: "", `{}`: "", `[1]`: "", `null`: "", `{"version":1}`: "", `{"a":{"version":9},"version":1}`: "",
		`{"version":{"type":"api"}}`: "", // a provider of that name
		`{"version":"9"}`:            "", `{"version":`: "", `{"a":`: "",
		`{"version":2}`:                           newer + "2, this one knows up to 1; update cairn",
		"\ufeff{\"a\":[],\"version\":3}":          newer + "3, this one knows up to 1; update cairn",
		`{"version":1,"version":2}`:               newer + "2, this one knows up to 1; update cairn",
		`{"version":1.5}`:                         newer + "1.5, this one knows up to 1; update cairn",
		`{"version":99999999999999999999,"a":1}x`: newer + "99999999999999999999, this one knows up to 1; update cairn",
	} {
		got := ""
		if err := statefile.CheckVersion("f", []byte(text), 1); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
