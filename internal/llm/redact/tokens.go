package redact

import (
	"bytes"
	"strings"
	"sync"
)

// tokenShape describes the tokens of a vendor: prefix, and at least size letters, digits and the extra characters.
type tokenShape struct {
	prefix string
	size   int
	extra  string
}

// tokenShapes returns the shapes by the first byte of their prefix.
var tokenShapes = sync.OnceValue(func() *[256][]tokenShape {
	var shapes [256][]tokenShape
	for _, s := range []tokenShape{
		{"AIza", 30, "_-"},
		{"ya29.", 20, "_-"},
		{"GOCSPX-", 20, "_-"}, // Google
		{"AKIA", 16, ""},
		{"ASIA", 16, ""}, // AWS
		{"Bearer ", 16, "_.=+/~-"},
		{"bearer ", 16, "_.=+/~-"},
		{"eyJ", 20, "_.-"}, // JWT
		{"sk-", 16, "_-"},
		{"gsk_", 16, "_"},
		{"xai-", 16, ""},
		{"hf_", 30, ""},
		{"nvapi-", 30, "_-"},
		{"pplx-", 30, ""},
		{"ghp_", 16, ""},
		{"gho_", 16, ""},
		{"ghu_", 16, ""},
		{"ghs_", 16, ""},
		{"ghr_", 16, ""},
		{"github_pat_", 20, "_"},
		{"glpat-", 16, "_.-"},
		{"gldt-", 16, "_.-"},
		{"glrt-", 16, "_.-"},
		{"glptt-", 16, "_.-"},
		{"glcbt-", 16, "_.-"},
		{"npm_", 30, ""},
		{"pypi-AgE", 16, "_-"},
		{"cairn_", 25, "_-"},
		{"sk_live_", 16, ""},
		{"sk_test_", 16, ""},
		{"rk_live_", 16, ""},
		{"rk_test_", 16, ""},
		{"whsec_", 16, "+/="}, // Stripe
		{"xoxa-", 10, "-"},
		{"xoxb-", 10, "-"},
		{"xoxc-", 10, "-"},
		{"xoxe-", 10, "-."},
		{"xoxe.", 10, "-."}, // Slack
		{"xoxp-", 10, "-"},
		{"xoxr-", 10, "-"},
		{"xoxs-", 10, "-"},
		{"xapp-", 16, "-"},
		{"SG.", 40, "_.-"},
		{"dop_v1_", 40, ""},
		{"doo_v1_", 40, ""},
		{"dapi", 32, ""},
		{"shpat_", 32, ""},
		{"shpss_", 32, ""},
		{"hvs.", 20, "_-"},
		{"hvb.", 20, "_-"},
		{"AGE-SECRET-KEY-1", 50, ""},
	} {
		shapes[s.prefix[0]] = append(shapes[s.prefix[0]], s)
	}
	return &shapes
})

// maskTokens removes the words that have the shape of a vendor's token.
func maskTokens(text []byte) []byte {
	var cuts []cut
	shapes := tokenShapes()
	for i := 0; i < len(text); i++ {
		if len(shapes[text[i]]) == 0 || i > 0 && isWordByte(text[i-1]) && !followsEscape(text, i) {
			continue
		}
		for _, s := range shapes[text[i]] {
			if end := s.match(text, i); end > 0 {
				cuts = append(cuts, cut{i, end})
				i = end - 1
				break
			}
		}
	}
	return maskCuts(text, cuts)
}

// match returns the end of the token at i, or 0.
func (s tokenShape) match(text []byte, i int) int {
	if !bytes.HasPrefix(text[i:], []byte(s.prefix)) {
		return 0
	}
	start := i + len(s.prefix)
	end := start + runLength(text[start:], s.extra)
	for end > start && strings.IndexByte(".-/", text[end-1]) >= 0 { // of the sentence
		end--
	}
	body := text[start:end]
	switch {
	case len(body) < s.size, !bytes.ContainsAny(body, "0123456789") && !s.isWord(body):
		return 0
	case s.prefix == "eyJ" && bytes.Count(body, []byte(".")) == 0: // JSON in base64 is no JWT
		return 0
	case s.prefix == "AKIA" || s.prefix == "ASIA":
		if len(body) != s.size || bytes.ContainsAny(body, "abcdefghijklmnopqrstuvwxyz") {
			return 0
		}
		return endOfAWSSecret(text, end)
	}
	return end
}

// isWord reports whether a body without digits is a token nevertheless: one long word behind a dash or underscore.
func (s tokenShape) isWord(body []byte) bool {
	last := s.prefix[len(s.prefix)-1]
	return (last == '-' || last == '_') && runLength(body, "") == len(body)
}

// endOfAWSSecret returns the end of the secret of 40 characters that is listed behind its key id, or end.
func endOfAWSSecret(text []byte, end int) int {
	next := end
	for next < len(text) && next < end+4 && strings.IndexByte(" \t\r\n,;:|\"'", text[next]) >= 0 {
		next++
	}
	if next > end && runLength(text[next:], "/+") == 40 {
		return next + 40
	}
	return end
}
