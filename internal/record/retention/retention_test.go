package retention_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/record/retention"
)

func TestChoose(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	tree := func(id, project string, days int, bytes int64) retention.Tree {
		return retention.Tree{ID: id, Project: project, Updated: now.AddDate(0, 0, -days), Bytes: bytes}
	}
	trees := []retention.Tree{
		tree("a1", "a", 1, 10), tree("a9", "a", 9, 10), tree("a5", "a", 5, 10), tree("b2", "b", 2, 100), tree("b7", "b", 7, 1),
	}
	for _, c := range []struct {
		name   string
		policy retention.Policy
		keep   string
		want   string
	}{
		{"nothing", retention.Policy{}, "", ""},
		{"age", retention.Policy{Age: 6 * 24 * time.Hour}, "", "a9 b7"},
		{"age, but for one at work", retention.Policy{Age: 6 * 24 * time.Hour}, "a9", "b7"},
		{"count", retention.Policy{Sessions: 1}, "", "a9 b7 a5"},
		{"count with one at work, which counts", retention.Policy{Sessions: 2}, "a5", "a9"},
		{"bytes", retention.Policy{Bytes: 20}, "", "a9 b2"},
		{"bytes below each", retention.Policy{Bytes: 5}, "", "a9 a5 b2 a1"},
		{"all", retention.Policy{Age: 8 * 24 * time.Hour, Sessions: 2, Bytes: 50}, "", "a9 b2"},
	} {
		var got []string
		list := append([]retention.Tree{}, trees...)
		for i := range list {
			list[i].Keep = list[i].ID == c.keep
		}
		for _, choice := range retention.Choose(list, c.policy, now) {
			got = append(got, choice.ID)
			if choice.Reason == "" {
				t.Errorf("%s: %s without a reason", c.name, choice.ID)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
