package httpapi

import (
	"strconv"
	"strings"
)

// maxWholeDigits is the maximum number of digits of an int64.
const maxWholeDigits = 19

// wholeNumber returns the plain form of a JSON number whose fraction is zero: 10 for 10.0 and 1e1. JSON Schema treats
// such a number as an integer, but Go's decoders refuse it. It reports false for a number that is in plain form
// already, is not an integer, or does not fit into 64 bits. It works on digits, because as a float
// 0.99999999999999999999 would be 1.
func wholeNumber(number string) (string, bool) {
	if !strings.ContainsAny(number, ".eE") {
		return "", false
	}
	sign, digits := "", number
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, digits = "-", rest
	}
	mantissa, exponent := digits, 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(strings.TrimPrefix(digits[i+1:], "+")); err != nil {
			return "", false
		}
		mantissa = digits[:i]
	}
	if exponent > maxWholeDigits || exponent < -maxWholeDigits {
		return "", false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all, point := whole+fraction, len(whole)+exponent
	if point < 0 {
		all, point = strings.Repeat("0", -point)+all, 0
	}
	if point > len(all) {
		all += strings.Repeat("0", point-len(all))
	}
	if strings.Trim(all[point:], "0") != "" {
		return "", false
	}
	plain := strings.TrimLeft(all[:point], "0")
	switch {
	case plain == "":
		return "0", true
	case len(plain) > maxWholeDigits:
		return "", false
	}
	return sign + plain, true
}
