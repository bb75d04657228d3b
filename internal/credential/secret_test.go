package credential

import (
	"bytes"
	"crypto/sha256"
	"math/big"
	"regexp"
	"strings"
	"testing"
)

func TestTokenHasTheFormatKnownToSecretScanners(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^crl_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$`)
	seen := map[string]bool{}
	for range 1000 {
		token := NewSecret("crl")
		if !shape.MatchString(token) || !IsSecret("crl", token) || seen[token] {
			t.Fatalf("got %s", token)
		}
		seen[token] = true
	}
	// The format registered with secret scanners: CRC-32 (IEEE) in base62, six digits.
	for _, secret := range []string{strings.Repeat("0", 32), NewSecret("x")[2:34]} {
		sum := checksum(secret)
		if got, want := string(sum[:]), checksumBitByBit(secret); got != want {
			t.Errorf("the checksum of %s is %s, want %s", secret, got, want)
		}
	}
}

func checksumBitByBit(secret string) string {
	crc := ^uint32(0)
	for _, c := range []byte(secret) {
		crc ^= uint32(c)
		for range 8 {
			if crc&1 == 1 {
				crc = crc>>1 ^ 0xedb88320
			} else {
				crc >>= 1
			}
		}
	}
	n, out := uint64(^crc), ""
	for range 6 {
		out = string(base62[n%62]) + out
		n /= 62
	}
	return out
}

func TestSecretDigitsAreUniform(t *testing.T) {
	t.Parallel()
	const tokens = 2000
	counts := map[byte]int{}
	for range tokens {
		for _, c := range []byte(NewSecret("p")[2:34]) {
			counts[c]++
		}
	}
	// 64,000 digits of 62 kinds: 1032 each with a standard deviation of 32. The bounds are six deviations wide; a modulo
	// bias would give the first eight digits 25 % more.
	for _, c := range []byte(base62) {
		if n := counts[c]; n < 840 || n > 1225 {
			t.Errorf("digit %c occurs %d times", c, n)
		}
	}
}

func TestMistypedSecretIsRejected(t *testing.T) {
	t.Parallel()
	token := NewSecret("crl")
	for i := len("crl_"); i < len(token); i++ {
		wrong := byte('0')
		if token[i] == wrong {
			wrong = '1'
		}
		if mistyped := token[:i] + string(wrong) + token[i+1:]; IsSecret("crl", mistyped) {
			t.Errorf("%s is accepted for %s", mistyped, token)
		}
	}
	for name, junk := range map[string]string{
		"nothing": "", "the prefix": "crl_", "another prefix": "x" + token, "a longer prefix": "crlc" + token[3:],
		"no underscore": "crl" + token[4:],
		"cut short":     token[:len(token)-1], "longer": token + "0", "spaced": " " + token,
		"a NUL": token[:10] + "\x00" + token[11:], "é": token[:10] + "é" + token[12:],
	} {
		if IsSecret("crl", junk) {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestHashDependsOnTheKey(t *testing.T) {
	t.Parallel()
	token := NewSecret("crl")
	one, two := Hash([]byte("key one"), token), Hash([]byte("key two"), token)
	if len(one) != 32 || bytes.Equal(one, two) || !bytes.Equal(one, Hash([]byte("key one"), token)) ||
		bytes.Equal(one, Hash(nil, token)) {
		t.Errorf("the hashes are %x and %x", one, two)
	}
}

func FuzzIsSecret(f *testing.F) {
	f.Add("crl", NewSecret("crl"))
	f.Add("crl", "crl_"+strings.Repeat("0", 38))
	f.Add("", NewSecret(""))
	f.Add("a_b", "a_b_")
	f.Fuzz(func(t *testing.T, prefix, token string) {
		if !IsSecret(prefix, token) {
			return
		}
		body, ok := strings.CutPrefix(token, prefix+"_")
		if !ok || len(body) != 38 || strings.Trim(body, base62) != "" || checksumBitByBit(body[:32]) != body[32:] {
			t.Errorf("%q is accepted as a token with prefix %q", token, prefix)
		}
	})
}

func FuzzClientName(f *testing.F) {
	for _, seed := range []string{
		"", " ", "editor", "a\x00", "\u202e", strings.Repeat("é", 64), strings.Repeat("é", 65), "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !validClientName(name) {
			return
		}
		if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "\x00\n\r\t\x1b\x7f") ||
			strings.ToValidUTF8(name, "") != name ||
			len([]rune(name)) > 64 {
			t.Errorf("%q is accepted as a client name", name)
		}
	})
}

func TestBase62DigitsAreTheRemaindersOfDivisions(t *testing.T) {
	t.Parallel()
	numbers := [][]byte{make([]byte, 32), bytes.Repeat([]byte{0xff}, 32)}
	for i := range 1000 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		numbers = append(numbers, sum[:])
	}
	for _, number := range numbers {
		n, base, digit := new(big.Int).SetBytes(number), big.NewInt(62), new(big.Int)
		var want [secretLength]byte
		for i := range want {
			n.DivMod(n, base, digit)
			want[i] = base62[digit.Int64()]
		}
		if got := base62Digits(number); got != want {
			t.Fatalf("%x: got %s, want %s", number, got[:], want[:])
		}
	}
}

func BenchmarkDeriveSecret(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		DeriveSecret([]byte("key"), "crlr", "from")
	}
}

func TestOnlyBase62IsASecret(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		strings.Repeat("a", secretLength):         true,
		strings.Repeat("a", secretLength-1) + "-": false,
		"é" + strings.Repeat("a", secretLength-2): false,
	} {
		sum := checksum(body)
		if got := IsSecret("key", "key_"+body+string(sum[:])); got != want {
			t.Errorf("%q with its checksum: %v, want %v", body, got, want)
		}
	}
}
