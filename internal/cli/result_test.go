package cli

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListPrint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		json        bool
		empty       string
		items       []int
		out, stderr string
	}{
		"table":              {items: []int{7, 10}, out: "N   HEX\n7   7\n10  a\n"},
		"no items":           {empty: "No numbers.", stderr: "No numbers.\n"},
		"no items, a head":   {out: "N  HEX\n"},
		"JSON":               {json: true, items: []int{7}, out: "[\n  7\n]\n"},
		"JSON without items": {json: true, empty: "No numbers.", out: "[]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, stderr bytes.Buffer
			a := NewInvocation(nil, Process{Stdout: &out, Stderr: &stderr, Env: func(string) string { return "" }})
			a.JSON = c.json
			list := List[int]{
				Head:  []string{"N", "HEX"},
				Row:   func(n int) []string { return []string{strconv.Itoa(n), strconv.FormatInt(int64(n), 16)} },
				Empty: c.empty,
			}
			if err := list.Print(a, c.items); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.out, c.stderr}, []string{out.String(), stderr.String()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
