package describe

import (
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// FormatCacheHit formats the share of the input that came from the provider's cache; "" if that is zero.
func FormatCacheHit(t session.Tokens) string {
	share, ok := t.CacheShare()
	if !ok || t.Cache.Read == 0 {
		return ""
	}
	return strconv.Itoa(int(share*100)) + "%"
}

// FormatUSD formats an amount: cents, or four decimals below a dollar.
func FormatUSD(u session.USD) string {
	if u == 0 {
		return "0"
	}
	unit, digits := session.Dollar/10000, 4
	if u >= session.Dollar || u <= -session.Dollar {
		unit, digits = session.Dollar/100, 2
	}
	rounded := (u + unit/2) / unit * unit
	if rounded == 0 {
		return "<0.0001"
	}
	whole, frac, _ := strings.Cut(rounded.String(), ".")
	return whole + "." + (frac + strings.Repeat("0", digits))[:max(digits, min(len(frac), digits))]
}

// FormatCost formats what tokens cost, with a dollar sign; "unknown" where no price is known.
func FormatCost(u session.USD, t session.Tokens) string {
	switch {
	case t.Unpriced == 0:
		return "$" + FormatUSD(u)
	case u == 0:
		return "unknown"
	default:
		return "$" + FormatUSD(u) + " + unknown"
	}
}

// CacheNote warns that a request does not begin like the one before, so that the provider's cache is not used.
func CacheNote(changed string) string {
	return "the provider's cache is not used, so the whole conversation is charged at full price: " + terminal.FirstLine(
		changed,
		200,
	)
}
