package store

// Arena copies small byte slices into shared blocks, so that a page of rows costs few allocations. The first block is
// small, for pages of one row. The zero value is ready for use.
type Arena struct {
	free  []byte
	block int // size of the newest block
}

const (
	minBlock = 2 << 10
	maxBlock = 32 << 10
)

// Clone returns a copy of b.
func (a *Arena) Clone(b []byte) []byte {
	if len(b) > maxBlock/4 {
		return append([]byte(nil), b...)
	}
	if len(a.free) < len(b) {
		a.block = max(minBlock, min(2*a.block, maxBlock), len(b))
		a.free = make([]byte, a.block)
	}
	c := a.free[:len(b):len(b)]
	a.free = a.free[len(b):]
	copy(c, b)
	return c
}
