package permission_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// Below others, nothing is allowed that they would have to ask for, and nothing that they are denied, whatever rules
// are added and approvals saved; and what is denied stays so two levels down.
func TestBelow(t *testing.T) {
	rank := map[session.Effect]int{session.Allow: 0, session.Ask: 1, session.Deny: 2}
	var pool []permission.Layer
	for _, a := range []string{
		"edit | * | deny", "edit | a | allow", "* | * | allow", "edit | * | ask", "edit | b | deny",
	} {
		pool = append(pool, layer("l", a), ceiling("c", a), strict("s", a))
	}
	free := []permission.Layer{layer("free", "* | * | allow")}
	for _, x := range pool {
		for _, y := range pool {
			parent := []permission.Layer{x, y}
			child := append(free[:1:1], permission.AsCeiling(parent)...)
			grandchild := append(free[:1:1], permission.AsCeiling(child)...)
			grandchild = append(grandchild, permission.AsCeiling(parent)...)
			for _, resource := range []string{"a", "b", "c"} {
				above := permission.Evaluate(parent, nil, "edit", resource).Effect
				for depth, layers := range [][]permission.Layer{child, grandchild} {
					d := permission.Evaluate(layers, nil, "edit", resource)
					if rank[d.Effect] < rank[above] {
						t.Fatalf("%s is %s, and %s %d levels down, by %+v below %+v", resource, above, d.Effect, depth+1, d, parent)
					}
					saved := permission.Evaluate(layers, rules("* | * | allow"), "edit", resource)
					if above == session.Deny && saved.Effect != session.Deny {
						t.Fatalf("%s is denied, and %s with an approval below %+v", resource, saved.Effect, parent)
					}
				}
			}
		}
	}
}
