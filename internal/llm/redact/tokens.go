package redact

import (
	"bytes"
	"encoding/base64"
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
	{"ghp_", 30, ""},
	{"gho_", 30, ""},
	{"ghu_", 30, ""},
	{"ghs_", 30, ""},
	{"ghr_", 30, ""},
	{"squ_", 40, ""},
	{"fm2_", 30, "_+/="},
	{"fo1_", 30, "_-"}, // Fly.io
	{"nfp_", 36, ""},
	{"glc_eyJ", 20, "+/="},
	{"ops_eyJ", 20, "_-"}, // 1Password
	{"CFPAT-", 40, "_-"},
	{"CCIPAT_", 40, "_"},
	{"bkua_", 40, ""},
	{"pul-", 40, ""},
	{"pat-na1-", 36, "-"},
	{"pat-eu1-", 36, "-"}, // HubSpot
	{"sl.", 60, "_.-"},    // Dropbox
	{"EAA", 100, ""},      // Facebook
	{"4/0A", 30, "_-"},    // Google's code for a token
	{"access_token$production$", 40, "$"},
	{"xprv", 100, ""},       // BIP 32
	{"RWRTY0Iy", 60, "+/="}, // minisign
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

// findNumberedToken finds tokens that begin with a digit: of Telegram's bots, or a hexadecimal key.
func findNumberedToken(text []byte, start, next int) (cut, bool) {
	if c, ok := findHexToken(text, start, next); ok {
		return c, true
	}
	return findBotToken(text, start, start)
}

// findHexToken finds keys that are hexadecimal numbers: of Mailgun or Mailchimp.
func findHexToken(text []byte, start, next int) (cut, bool) {
	if c, ok := findMailgunKey(text, start, next); ok {
		return c, true
	}
	return findMailchimpKey(text, start)
}

// findMailchimpKey finds a key of Mailchimp: a hexadecimal number of 32 digits, and where it is valid, such as -us12.
func findMailchimpKey(text []byte, start int) (cut, bool) {
	end := start + runLength(text[start:], "-")
	key, place, ok := bytes.Cut(text[start:end], []byte("-us"))
	isKey := len(key) == 32 && len(bytes.Trim(key, hex)) == 0
	return cut{start, end}, ok && isKey && len(place) > 0 && len(place) < 3 && len(bytes.Trim(place, digits)) == 0
}

// findUUIDKey finds a prefix and a UUID: a key of LaunchDarkly for servers or for mobile devices.
func findUUIDKey(text []byte, start, next int) (cut, bool) {
	const size = 36
	body := text[next : next+runLength(text[next:], "_-")]
	if len(body) != size || len(bytes.Trim(body, hex+"-")) > 0 {
		return cut{}, false
	}
	for _, i := range []int{8, 13, 18, 23} {
		if body[i] != '-' {
			return cut{}, false
		}
	}
	return cut{start, next + size}, bytes.Count(body, []byte("-")) == 4
}

// findTwilioKey finds SK and a hexadecimal number of 32 digits.
func findTwilioKey(text []byte, start, next int) (cut, bool) {
	body := text[next : next+runLength(text[next:], "_-")]
	return cut{start, next + len(body)}, len(body) == 32 && len(bytes.Trim(body, hex)) == 0 && hasDigit(body)
}

// findAirtableToken finds pat and 14 characters, a dot, and a hexadecimal number of 64 digits.
func findAirtableToken(text []byte, start, next int) (cut, bool) {
	id, secret, ok := bytes.Cut(text[next:next+runLength(text[next:], ".")], []byte("."))
	return cut{start, next + len(id) + 1 + len(secret)}, ok && len(id) == 14 && len(secret) == 64 &&
		len(bytes.Trim(secret, hex)) == 0
}

// findDiscordToken finds a token of Discord: the number of a bot in base64, 6 characters of time, and at least 27 others,
// with dots between them.
func findDiscordToken(text []byte, start, _ int) (cut, bool) {
	end := start + runLength(text[start:], "._-")
	parts := bytes.Split(text[start:end], []byte("."))
	if len(parts) != 3 || len(parts[0]) < 23 || len(parts[0]) > 28 || len(parts[1]) != 6 || len(parts[2]) < 27 {
		return cut{}, false
	}
	id, err := base64.RawStdEncoding.DecodeString(string(parts[0]))
	return cut{start, end}, err == nil && len(bytes.Trim(id, digits)) == 0
}

// findLaravelKey finds base64: and 32 bytes.
func findLaravelKey(text []byte, _, next int) (cut, bool) {
	n := runLength(text[next:], "+/=")
	return cut{next, next + n}, n == 44 && text[next+42] != '=' && text[next+43] == '='
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
