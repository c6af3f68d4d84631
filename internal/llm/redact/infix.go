package redact

import "bytes"

// infixShape describes the tokens of a vendor that have a mark in their middle, with at least as many letters, digits
// and extra characters on its sides.
type infixShape struct {
	infix         string
	before, after int
	extra         string
}

var infixShapes = []infixShape{
	{".atlasv1.", 14, 60, "-_="},
	{"Q~", 4, 31, "_.~-"}, // Azure
}

// mask removes the tokens.
func (s infixShape) mask(text []byte) []byte {
	var cuts []cut
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(s.infix))
		if i < 0 {
			return maskCuts(text, cuts)
		}
		start := at + i
		from, next := start, start+len(s.infix)
		for from > at && start-from < maxName && runLength(text[from-1:from], s.extra) == 1 {
			from--
		}
		to := next + runLength(text[next:], s.extra)
		if at = next; start-from >= s.before && to-next >= s.after && hasDigit(text[from:start]) {
			cuts = append(cuts, cut{from, to})
			at = to
		}
	}
}
