package history

import "fmt"

// CutCall is the result for the model of a call that the limit of output tokens cut off.
const CutCall = "Your answer reached its limit of output tokens in the middle of this call, so it was not run. " +
	"The same call would be cut again: say less at once, and split what you write into several smaller calls."

// FilteredCall is the result for the model of a call that a content filter of the provider cut off.
const FilteredCall = "A content filter of the provider ended your answer in the middle of this call, so it was not " +
	"run. The same call would be cut again: do it in another way, or explain what cannot be done."

// DescribeEmptyCut says that the limit of output tokens, 0 if unknown, left no room for an answer. Another attempt
// would cost as much and end in the same way.
func DescribeEmptyCut(limit int) string {
	text := "its limit of output tokens"
	if limit > 0 {
		text = fmt.Sprintf("its limit of %d output tokens", limit)
	}
	return "the answer reached " + text + " before the model wrote anything; raise limit.output of the model, " +
		"or choose a variant with less reasoning"
}
