package models

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// Reported usage moves the ratio of its model, also for later processes. Small requests and those with images do not.
func TestCalibration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "tokens-per-byte.json")
	one, two := session.ModelRef{ProviderID: "p", ID: "one"}, session.ModelRef{ProviderID: "p", ID: "two"}
	c := &calibration{path: path}
	c.Add(one, scope.RequestSize{Bytes: 10_000}, 4000)
	c.Add(one, scope.RequestSize{Bytes: 100}, 5000)
	c.Add(one, scope.RequestSize{Bytes: 10_000, Media: 1600}, 9000)
	c.Add(one, scope.RequestSize{Bytes: 10_000}, 2000)
	for range 20 {
		c.Add(two, scope.RequestSize{Bytes: 10_000}, 1_000_000)
	}
	for _, c := range []*calibration{c, {path: path}} {
		if got := c.FindRatio(one); math.Abs(got-0.34) > 0.001 {
			t.Errorf("the ratio of one is %v", got)
		}
		if got := c.FindRatio(two); got != 1 {
			t.Errorf("the ratio of two is %v", got)
		}
	}
	if got := (&calibration{}).FindRatio(one); got != 0 {
		t.Errorf("the ratio of an unknown model is %v", got)
	}
}
