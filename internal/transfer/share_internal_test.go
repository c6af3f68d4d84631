package transfer

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// A share that does not end is not read to its end.
func TestShareIsBounded(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"type":"session_diff","data":"`)
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<10)); err != nil {
				return
			}
		}
	}
	_, err := Share{Host: ShareHost, Slug: "abc"}.atMost(t.Context(), api.Local(http.HandlerFunc(endless)), 100<<10)
	if err == nil || !strings.Contains(err.Error(), "larger than 102400 bytes") {
		t.Errorf("%v", err)
	}
}
