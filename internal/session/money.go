package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// USD is an exact amount of money in pico-dollars (1e-12 $): prices per million tokens with up to six decimals are
// whole pico-dollars per token. In JSON it is a decimal number of dollars. Its range is about ±9.2 million $.
type USD int64

// Dollar is one dollar.
const Dollar USD = 1e12

// Dollars returns the amount in dollars, for programs that show or sum it: it may be rounded.
func (u USD) Dollars() float64 { return float64(u) / float64(Dollar) }

// String returns the amount in dollars with as many decimals as it needs.
func (u USD) String() string {
	sign, v := "", uint64(u)
	if u < 0 {
		sign, v = "-", -v
	}
	whole, frac := v/uint64(Dollar), v%uint64(Dollar)
	if frac == 0 {
		return sign + strconv.FormatUint(whole, 10)
	}
	return sign + strconv.FormatUint(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%012d", frac), "0")
}

// ParseUSD parses a decimal number of dollars, with optional sign, fraction and exponent. Digits below a
// pico-dollar are cut off; an amount out of range is an error.
func ParseUSD(s string) (USD, error) {
	v, ok := ParseDecimal(s, 12)
	if !ok {
		return 0, fmt.Errorf("%q is not an amount of dollars", ClipText(s, 40))
	}
	return USD(v), nil
}

// ParseDecimal parses a decimal number, with optional sign, fraction and exponent, and scales it by 10^place: 1.5
// at place 6 is 1,500,000. Further digits are cut off. ok is false if s is not a number or is too large.
func ParseDecimal(s string, place int) (v int64, ok bool) {
	body, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	// The exponent moves the decimal point. Its bound limits the padding below.
	if hasExponent {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -40 || n > 40 {
			return 0, false
		}
		place += n
	}
	// At most one sign and one point; all else must be digits.
	unsigned := strings.TrimLeft(body, "+-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(body)-len(unsigned) > 1 {
		return 0, false
	}
	switch point := len(whole) + place; { // where the number ends in digits
	case point <= 0:
		return 0, true
	case point < len(digits):
		digits = digits[:point]
	default:
		digits += strings.Repeat("0", point-len(digits))
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	if strings.HasPrefix(body, "-") {
		v = -v
	}
	return v, true
}

// MarshalJSONTo writes the amount as a number.
func (u USD) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(u.String()))
}

// UnmarshalJSONFrom reads the amount from a number.
func (u *USD) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() != '0' {
		return fmt.Errorf("an amount of dollars must be a number, got %s", ClipText(string(v), 40))
	}
	*u, err = ParseUSD(string(v))
	return err
}
