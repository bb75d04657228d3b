package httpapi

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestWholeNumberReturnsThePlainForm(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"10.0": "10", "1e1": "10", "1E+1": "10", "1.0e1": "10", "100e-1": "10", "0.1e2": "10", "-10.0": "-10", "-1e1": "-10",
		"0.0": "0", "-0.0": "0", "0e5": "0",
		"1.50e1": "15", "9223372036854775807.0": "9223372036854775807", "12345678901234567e2": "1234567890123456700",
		"0.000e0": "0",
		// In plain form already, not an integer, or too large.
		"10": "", "-10": "", "0": "", "-0": "", "10.5": "", "1e-1": "", "0.99999999999999999999": "",
		"1.00000000000000000001": "", "1e20": "", "1e400": "", "1e-400": "",
		"1e99999999999999999999": "", "100000000000000000000.0": "",
	} {
		got, ok := wholeNumber(number)
		if got != want && ok || ok != (want != "") {
			t.Errorf("%s: %q %t, want %q", number, got, ok, want)
		}
	}
}

// FuzzWholeNumber compares with exact arithmetic.
func FuzzWholeNumber(f *testing.F) {
	for _, number := range []string{"10.0", "1e1", "-0.0", "1.5e1", "100e-2", "1e-1", "0.1"} {
		f.Add(number)
	}
	f.Fuzz(func(t *testing.T, number string) {
		s := scanner{in: []byte(number)}
		if s.number() != nil || s.at != len(number) || len(number) > 60 ||
			strings.Count(number, "e")+strings.Count(number, "E") == 1 && len(number) > 30 {
			t.Skip("no JSON number, or too large for exact arithmetic")
		}
		plain, ok := wholeNumber(number)
		if !ok {
			return
		}
		want, fine := new(big.Rat).SetString(number)
		got, whole := new(big.Int).SetString(plain, 10)
		if !fine || !whole || want.Cmp(new(big.Rat).SetInt(got)) != 0 {
			t.Errorf("%s became %s", number, plain)
		}
	})
}

func TestQueryArgumentsAreScalars(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`10`: "10", `10.0`: "10", `1e1`: "10", `10.5`: "10.5", `"10.0"`: "10.0", `true`: "true",
	} {
		if got := scalar(json.RawMessage(value)); got != want {
			t.Errorf("%s is %q in a query, want %q", value, got, want)
		}
	}
}
