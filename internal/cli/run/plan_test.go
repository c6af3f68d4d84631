package run

import (
	"os"
	"testing"
)

// TestRecordLeavesNothing: that a recording can be kept is found out without a trace.
func TestRecordLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := checkRecord(dir + "/x.json"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
