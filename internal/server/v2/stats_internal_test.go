package v2

import (
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// The trees that are not shown are summed up: nothing of the total is missing.
func TestMoreTrees(t *testing.T) {
	for _, n := range []int{maxTrees, maxTrees + 3} {
		m := storetest.NewMemory()
		err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
			for i := range n {
				id := session.ID(fmt.Sprintf("ses_%02d", i))
				if err := tx.PutSession(&session.Session{ID: id}); err != nil {
					return err
				}
				err := tx.AddSpend(store.Spend{
					SessionID: id, Seq: 1, Cost: session.USD(i + 1), Tokens: session.Tokens{Input: 10},
					Model: session.ModelRef{ProviderID: "p", ID: "m"},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := statsHandlers{&dependencies{Config: Config{Store: m}}}.sum(t.Context(), api.StatsQuery{})
		if err != nil || len(got.Data.Trees) != maxTrees || (got.Data.MoreTrees != nil) != (n > maxTrees) {
			t.Fatalf("of %d: %d, %+v, %v", n, len(got.Data.Trees), got.Data.MoreTrees, err)
		}
		if more := got.Data.MoreTrees; more != nil && (more.Count != 3 || more.Turns != 3 || more.Cost != 6 || more.Tokens.Input != 30) {
			t.Errorf("the rest is %+v", more)
		}
	}
}
