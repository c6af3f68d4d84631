package exec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/tool/linepath"
)

// FindPermittedPaths returns the paths outside of the Location that a command may change once its requests are allowed.
func FindPermittedPaths(c Config, command string) []string { return planUnasked(c, command).changed }

// The request for directories outside names them and the patterns that "always" would allow.
func TestOutsideRequestsNameDirectories(t *testing.T) {
	asks := listPathRequests(linepath.NamedPaths{Outside: []string{"/o"}, Read: []string{"/o/f"}}, "cat /o/f", false)
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
