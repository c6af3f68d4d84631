package openairesponses

import "hash/fnv"

// frameNumbers recognises frames that a provider or a proxy sends twice: they have the same number and content. A
// server that uses a number for two different frames numbers in its own way, and is not judged any more.
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
