package redact

import (
	"bytes"
	"strings"
)

// tokenShape describes the tokens of a vendor: prefix, and at least size letters, digits and the extra characters.
type tokenShape struct {
	prefix string
	size   int
	extra  string
}

var tokenShapes = []tokenShape{
	{"AIza", 30, "_-"},
	{"ya29.", 20, "_-"},
	{"GOCSPX-", 20, "_-"},
	{"1//0", 30, "_-"}, // Google
	{"AKIA", 16, ""},
	{"ASIA", 16, ""}, // AWS
	{"Bearer ", 16, "_.=+/~-"},
	{"bearer ", 16, "_.=+/~-"},
	{"eyJ", 20, "_.-"}, // JWT
	{"sk-", 16, "_-"},
	{"gsk_", 16, "_"},
	{"xai-", 16, ""},
	{"hf_", 30, ""},
	{"r8_", 30, ""},
	{"nvapi-", 30, "_-"},
	{"pplx-", 30, ""},
	{"lsv2_pt_", 30, "_"},
	{"lsv2_sk_", 30, "_"},
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
	{"gloas-", 16, "_.-"},
	{"glsoat-", 16, "_.-"},
	{"ATATT3x", 30, "_.=-"},
	{"ATBB", 28, ""}, // Atlassian
	{"npm_", 30, ""},
	{"pypi-AgE", 16, "_-"},
	{"rubygems_", 40, ""},
	{"dckr_pat_", 20, "_-"},
	{"dckr_oat_", 20, "_-"},
	{"cairn_", 25, "_-"},
	{"sk_live_", 16, ""},
	{"sk_test_", 16, ""},
	{"rk_live_", 16, ""},
	{"rk_test_", 16, ""},
	{"whsec_", 16, "+/="}, // Stripe
	{"xoxa-", 10, "-"},
	{"xoxb-", 10, "-"},
	{"xoxc-", 10, "-"},
	{"xoxd-", 10, "%-"},
	{"xoxe-", 10, "-."},
	{"xoxe.", 10, "-."}, // Slack
	{"xoxp-", 10, "-"},
	{"xoxr-", 10, "-"},
	{"xoxs-", 10, "-"},
	{"xapp-", 16, "-"},
	{"SG.", 40, "_.-"},
	{"key-", 32, ""}, // Mailgun
	{"xkeysib-", 60, "-"},
	{"lin_api_", 30, ""},
	{"lin_oauth_", 30, ""}, // Linear
	{"ntn_", 40, ""},       // Notion
	{"figd_", 30, "_-"},
	{"dop_v1_", 40, ""},
	{"doo_v1_", 40, ""},
	{"dapi", 32, ""},
	{"shpat_", 32, ""},
	{"shpca_", 32, ""},
	{"shppa_", 32, ""},
	{"shpss_", 32, ""},
	{"sq0atp-", 20, "_-"},
	{"sq0csp-", 30, "_-"},
	{"hvs.", 20, "_-"},
	{"hvb.", 20, "_-"},
	{"sbp_", 40, ""},
	{"sb_secret_", 20, "_-"},
	{"pscale_pw_", 30, "_-"},
	{"pscale_tkn_", 30, "_-"},
	{"dp.pt.", 40, ""},
	{"dp.st.", 40, "._-"},
	{"glsa_", 32, "_"},
	{"sntrys_", 30, "_+/="},
	{"sntryu_", 30, ""},
	{"phx_", 40, ""},
	{"PMAK-", 30, "-"},
	{"NRAK-", 24, ""},
	{"HRKU-", 30, "_-"},
	{"tskey-", 20, "-"},
	{"AKCp", 60, ""},
	{"sqp_", 40, ""},
	{"squ_", 40, ""},
	{"AGE-SECRET-KEY-1", 30, ""},
	{"AGE-SECRET-KEY-PQ-1", 30, ""},
}

// find implements wordShape.
func (s tokenShape) find(text []byte, i, start int) (cut, bool) {
	end := start + runLength(text[start:], s.extra)
	for end > start && strings.IndexByte(".-/", text[end-1]) >= 0 { // of the sentence
		end--
	}
	body := text[start:end]
	switch {
	case len(body) < s.size, !hasDigit(body) && !s.isWord(body):
		return cut{}, false
	case s.prefix == "eyJ" && bytes.Count(body, []byte(".")) == 0: // JSON in base64 is no JWT
		return cut{}, false
	case s.prefix == "AKIA" || s.prefix == "ASIA":
		if len(body) != s.size || bytes.ContainsAny(body, "abcdefghijklmnopqrstuvwxyz") {
			return cut{}, false
		}
		return cut{i, endOfAWSSecret(text, end)}, true
	}
	return cut{i, end}, true
}

// isWord reports whether a body without digits is a token nevertheless: one long word behind a dash or underscore.
func (s tokenShape) isWord(body []byte) bool {
	last := s.prefix[len(s.prefix)-1]
	return (last == '-' || last == '_' || s.prefix[0] == 'A' && last == '1') && runLength(body, "") == len(body)
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

// findNumberedToken finds tokens that begin with a digit: of Telegram's bots, or a key of Mailgun.
func findNumberedToken(text []byte, start, next int) (cut, bool) {
	if c, ok := findMailgunKey(text, start, next); ok {
		return c, true
	}
	return findBotToken(text, start, start)
}

// findBotToken finds a token of Telegram: a number of 8 to 10 digits, a colon and 35 characters.
func findBotToken(text []byte, _, number int) (cut, bool) {
	colon := number
	for colon < len(text) && text[colon] >= '0' && text[colon] <= '9' {
		colon++
	}
	if n := colon - number; n < 8 || n > 10 || colon == len(text) || text[colon] != ':' {
		return cut{}, false
	}
	body := text[colon+1:]
	n := runLength(body, "_-")
	isLong := n == 35 || n > 30 && n < 40 && bytes.HasPrefix(body, []byte("AA"))
	if !isLong || !hasDigit(body[:n]) || !bytes.ContainsAny(body[:n], letters[:26]) ||
		!bytes.ContainsAny(body[:n], letters[26:]) {
		return cut{}, false
	}
	return cut{number, colon + 1 + n}, true
}

// findMailgunKey finds a key of Mailgun: hexadecimal numbers of 32, 8 and 8 digits.
func findMailgunKey(text []byte, start, _ int) (cut, bool) {
	const size = 32 + 1 + 8 + 1 + 8
	if len(text)-start < size || text[start+32] != '-' || text[start+41] != '-' ||
		runLength(text[start:], "_-") != size ||
		len(bytes.Trim(text[start:start+size], "0123456789abcdef-")) > 0 {
		return cut{}, false
	}
	return cut{start, start + size}, true
}
