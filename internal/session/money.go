package session

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// USD is an amount of money in pico-dollars (1e-12 $), exact: prices per million tokens with up to six decimals are
// whole pico-dollars per token. JSON shows it as a decimal number of dollars. The range is about ±9.2 million $.
type USD int64

// Dollar is one dollar.
const Dollar USD = 1e12

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

// ParseUSD reads a decimal number of dollars, with optional sign, fraction and exponent. Digits below a pico-dollar
// are cut off; amounts out of range are an error.
func ParseUSD(s string) (USD, error) {
	bad := func() (USD, error) { return 0, fmt.Errorf("%q is not an amount of dollars", clip(s, 40)) }
	body, exp, hasExp := strings.Cut(strings.ToLower(s), "e")
	shift := 12
	if hasExp {
		n, err := strconv.Atoi(exp)
		if err != nil || n < -40 || n > 40 {
			return bad()
		}
		shift += n
	}
	neg := strings.HasPrefix(body, "-")
	whole, frac, _ := strings.Cut(strings.TrimLeft(body, "+-"), ".")
	digits := whole + frac
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(body)-len(strings.TrimLeft(body, "+-")) > 1 {
		return bad()
	}
	point := len(whole) + shift // where the decimal point of pico-dollars stands in digits
	switch {
	case point <= 0:
		digits = "0"
	case point < len(digits):
		digits = digits[:point]
	default:
		digits += strings.Repeat("0", point-len(digits))
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return 0, nil
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return bad()
	}
	if neg {
		v = -v
	}
	return USD(v), nil
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
		return fmt.Errorf("an amount of dollars must be a number, got %s", clip(string(v), 40))
	}
	*u, err = ParseUSD(string(v))
	return err
}
