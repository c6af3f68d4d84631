package document

import "slices"

// MergeNodes merges high over low: objects member by member, other values as a whole.
func MergeNodes(low, high *Node) *Node {
	switch {
	case low == nil:
		return high
	case low.Kind == '{' && high.Kind == '{':
		out := *high
		out.Members = slices.Clone(low.Members)
		for _, m := range high.Members {
			if i := out.index(m.Key); i >= 0 {
				out.Members[i].Value = MergeNodes(out.Members[i].Value, m.Value)
			} else {
				out.Members = append(out.Members, m)
			}
		}
		return &out
	default:
		out := *high
		out.Below = low
		return &out
	}
}

// MergeLists returns the items of both lists without duplicates: each at its first position with its last value. An
// item that is a list itself, a plugin with options, is identified by its first element.
func MergeLists(low, high *Node) *Node {
	switch {
	case high == nil:
		return low
	case low == nil || low.Kind != '[' || high.Kind != '[':
		return high
	}
	out := *high
	out.Items = slices.Clone(low.Items)
	for _, item := range high.Items {
		if i := slices.IndexFunc(out.Items, func(o *Node) bool { return o.itemName() == item.itemName() }); i >= 0 {
			out.Items[i] = item
		} else {
			out.Items = append(out.Items, item)
		}
	}
	return &out
}

func (n *Node) itemName() string {
	if n.Kind == '[' && len(n.Items) > 0 {
		return n.Items[0].Text
	}
	return n.Text
}
