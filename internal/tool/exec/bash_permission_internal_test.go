package exec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The request for directories outside names them and the patterns that "always" would allow.
func TestOutsideRequestsNameDirectories(t *testing.T) {
	asks := (&linePaths{outside: []string{"/o"}, read: []string{"/o/f"}}).listRequests("cat /o/f", false)
	var got []string
	for _, r := range asks {
		got = append(got, r.Action+" "+string(r.Metadata))
	}
	want := []string{
		`external_directory {"command":"cat /o/f","directories":["/o"],"patterns":["/o/*"]}`, `read {"command":"cat /o/f"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
