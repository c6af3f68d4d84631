package redact

import "sync"

// wordShape finds secrets by the beginning of a word. find gets the text, where the word begins and where prefix ends.
type wordShape struct {
	prefix string
	find   func(text []byte, start, next int) (cut, bool)
	// joined says that the shape is found behind a dash or an underscore too, as in a file's name: it is long, and like no word.
	joined bool
}

// wordTable has the shapes by the first byte of their prefix. To skip most words fast, pairs has a bit for each pair of
// bytes with which a secret can begin.
type wordTable struct {
	shapes [256][]wordShape
	pairs  [1 << 16 / 64]uint64
	inWord [256]bool // isWordByte
}

// add adds a shape. second has the bytes that can follow a prefix of one byte.
func (t *wordTable) add(prefix, second string, find func(text []byte, start, next int) (cut, bool)) {
	t.shapes[prefix[0]] = append(t.shapes[prefix[0]], wordShape{prefix: prefix, find: find})
	if len(prefix) > 1 {
		second = prefix[1:2]
	}
	for _, b := range []byte(second) {
		pair := uint(prefix[0])<<8 | uint(b)
		t.pairs[pair/64] |= 1 << (pair % 64)
	}
}

func (t *wordTable) hasPair(text []byte, i int) bool {
	pair := uint(text[i])<<8 | uint(text[i+1])
	return t.pairs[pair/64]>>(pair%64)&1 != 0
}

var newWordTable = sync.OnceValue(func() *wordTable {
	t := &wordTable{}
	for b := range t.inWord {
		t.inWord[b] = isWordByte(byte(b))
	}
	for _, s := range tokenShapes {
		t.add(s.prefix, "", s.find)
		all := t.shapes[s.prefix[0]]
		all[len(all)-1].joined = len(s.prefix) >= minJoinedPrefix && s.size >= minJoinedSize
	}
	for _, s := range webhookShapes {
		t.add(s.prefix, "", s.find)
	}
	for _, s := range secretPhrases {
		t.add(s.prefix, "", s.find)
	}
	for _, c := range digits {
		t.add(string(c), hex, findNumberedToken)
	}
	for _, c := range "abcdef" {
		t.add(string(c), hex, findHexToken)
	}
	for _, c := range "MNO" { // digits in base64
		t.add(string(c), "DTjz", findDiscordToken)
	}
	for _, prefix := range passwordHashes {
		t.add(prefix, "", findPasswordHash)
	}
	t.add("<", letters, findElementSecret)
	t.add("value=", "", findAttributeSecret)
	t.add("TRUE", "", findCookieLine)
	t.add("FALSE", "", findCookieLine)
	t.add("SK", "", findTwilioKey)
	t.add("sdk-", "", findUUIDKey)
	t.add("mob-", "", findUUIDKey)
	t.add("pat", "", findAirtableToken)
	t.add("base64:", "", findLaravelKey)
	t.add("LS0tLS1CRUdJTi", "", findEncodedKey)
	t.add("Private-Lines:", "", findPuTTYKey)
	t.add("bot", "", findBotToken)
	t.add("machine", "", findNetrcPassword)
	t.add("default", "", findNetrcPassword)
	t.add("5432:", "", findPgPassword)
	t.add("echo", "", findPipedSecret)
	t.add("printf", "", findPipedSecret)
	t.add("<<<", "", findHereSecret)
	t.add("-", "-"+letters, findOptionSecret)
	return t
})

// The shapes that are found in the middle of a word have a prefix and a rest of at least so many bytes.
const (
	minJoinedPrefix = 4
	minJoinedSize   = 20
)

// isInside reports whether the byte at i is in the middle of a word. The sign of a line that a diff removes is not part of one.
func (t *wordTable) isInside(text []byte, i int) bool {
	if i == 0 || !t.inWord[text[i-1]] || !t.inWord[text[i]] {
		return false
	}
	isRemoved := text[i-1] == '-' && (i == 1 || text[i-2] == '\n')
	return !isRemoved && (i == 1 || text[i-2] != '\\' || !followsEscape(text, i))
}

// maskWords removes the tokens of vendors, the secret parts of webhooks, and what commands pass as passwords.
func maskWords(text []byte) []byte {
	var cuts []cut
	t := newWordTable()
	for i := 0; i < len(text)-1; i++ {
		isInside := t.isInside(text, i)
		if isInside && text[i-1] != '-' && text[i-1] != '_' || !t.hasPair(text, i) {
			continue
		}
		for _, s := range t.shapes[text[i]] {
			if isInside && !s.joined {
				continue
			}
			if len(text)-i < len(s.prefix) || string(text[i:i+len(s.prefix)]) != s.prefix {
				continue
			}
			if c, ok := s.find(text, i, i+len(s.prefix)); ok {
				cuts = append(cuts, c)
				i = c.to - 1
				break
			}
		}
	}
	return maskCuts(text, cuts)
}
