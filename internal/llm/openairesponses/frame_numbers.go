package openairesponses

import "hash/fnv"

// frameNumbers detects frames that a provider or a proxy sends twice: they have the same number and content. If one
// number has two contents, the server does not number frames uniquely, and no further frame counts as repeated.
type frameNumbers struct {
	hashes map[int64]uint64
	reused bool
}

// maxNumbers bounds the frames that are remembered.
const maxNumbers = 1 << 17

func (n *frameNumbers) isRepeated(number *int64, data []byte) bool {
	if n.reused || number == nil {
		return false
	}
	h := fnv.New64a()
	_, _ = h.Write(data)
	before, seen := n.hashes[*number]
	if seen {
		n.reused = before != h.Sum64()
		return !n.reused
	}
	if n.hashes == nil {
		n.hashes = map[int64]uint64{}
	}
	if len(n.hashes) < maxNumbers {
		n.hashes[*number] = h.Sum64()
	}
	return false
}
