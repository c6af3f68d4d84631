package redact

import "sync"

// wordShape finds secrets by the beginning of a word. find gets the text, where the word begins and where prefix ends.
type wordShape struct {
	prefix string
	find   func(text []byte, start, next int) (cut, bool)
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
	t.shapes[prefix[0]] = append(t.shapes[prefix[0]], wordShape{prefix, find})
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

// maskWords removes the tokens of vendors, the secret parts of webhooks, and what commands pass as passwords.
func maskWords(text []byte) []byte {
	var cuts []cut
	t := newWordTable()
	for i := 0; i < len(text)-1; i++ {
		isInside := i > 0 && t.inWord[text[i-1]] && t.inWord[text[i]] &&
			(i == 1 || text[i-2] != '\\' || !followsEscape(text, i))
		if isInside || !t.hasPair(text, i) {
			continue
		}
		for _, s := range t.shapes[text[i]] {
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
