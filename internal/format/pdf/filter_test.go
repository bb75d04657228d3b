package pdf

import (
	"bytes"
	"compress/flate"
	"compress/lzw"
	"compress/zlib"
	"encoding/ascii85"
	"fmt"
	"strings"
	"testing"
)

func emptyFile(t testing.TB) *file {
	t.Helper()
	f := &file{b: unlimited(t), inflater: flate.NewReader(bytes.NewReader(nil))}
	f.reset()
	return f
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// lzwEarly encodes LZW as PDF and TIFF do: most significant bit first, codes get longer one code early.
func lzwEarly(data []byte) []byte {
	var out []byte
	var acc, bits uint
	width := uint(9)
	put := func(code int) {
		acc, bits = acc<<width|uint(code), bits+width
		for bits >= 8 {
			bits -= 8
			out = append(out, byte(acc>>bits))
		}
	}
	table := map[string]int{}
	put(256)
	next, run := 258, ""
	code := func(s string) int {
		if len(s) == 1 {
			return int(s[0])
		}
		return table[s]
	}
	for _, c := range data {
		if _, ok := table[run+string([]byte{c})]; ok || run == "" {
			run += string([]byte{c})
			continue
		}
		put(code(run))
		table[run+string([]byte{c})] = next
		next++
		run = string([]byte{c})
		if next == 4094 {
			put(256)
			table, next, width = map[string]int{}, 258, 9
			continue
		}
		for width < 12 && next+1 > 1<<width {
			width++
		}
	}
	if run != "" {
		put(code(run))
		if next++; width < 12 && next+1 > 1<<width {
			width++
		}
	}
	put(257)
	return append(out, byte(acc<<(8-bits)))
}

// sampleData is long and varied enough to fill an LZW table more than once.
func sampleData() []byte {
	var b bytes.Buffer
	for i := range 4000 {
		fmt.Fprintf(&b, "%d %x %s\n", i*i, i*7919, strings.Repeat("ab", i%9))
	}
	return b.Bytes()
}

func TestFiltersReverseTheirEncoding(t *testing.T) {
	t.Parallel()
	data := sampleData()
	var in85, late bytes.Buffer
	w := ascii85.NewEncoder(&in85)
	_, _ = w.Write(data)
	_ = w.Close()
	l := lzw.NewWriter(&late, lzw.MSB, 8)
	_, _ = l.Write(data)
	_ = l.Close()
	var runs bytes.Buffer
	for rest := data; len(rest) > 0; {
		n := min(128, len(rest))
		runs.WriteByte(byte(n - 1))
		runs.Write(rest[:n])
		rest = rest[n:]
	}
	runs.WriteByte(128)
	for _, c := range []struct {
		filter name
		params dict
		in     []byte
	}{
		{"FlateDecode", nil, deflate(data)},
		{"Fl", nil, deflate(data)},
		{"LZWDecode", nil, lzwEarly(data)},
		{"LZW", dict{"EarlyChange": 1.0}, lzwEarly(data)},
		{"LZWDecode", dict{"EarlyChange": 0.0}, late.Bytes()},
		{"ASCII85Decode", nil, append(in85.Bytes(), "~>"...)},
		{"A85", nil, append([]byte(" <~"), in85.Bytes()...)},
		{"ASCIIHexDecode", nil, fmt.Appendf(nil, "%x>", data)},
		{"AHx", nil, fmt.Appendf(nil, "% X>", data)},
		{"RunLengthDecode", nil, runs.Bytes()},
		{"RL", nil, runs.Bytes()[:runs.Len()-1]}, // the end marker is missing
	} {
		out, ok := emptyFile(t).unfilter(c.filter, c.params, c.in)
		if !ok || !bytes.Equal(out, data) {
			t.Errorf("%s %v: %v, %d bytes, want %d", c.filter, c.params, ok, len(out), len(data))
		}
	}
}

func TestRepeatedRunsAreExpanded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"\xffa\x80", "aa"},
		{"\x81b\x80", strings.Repeat("b", 128)},
		{"\x01xy\xfez\x80ignored", "xyzzz"},
		{"\x05ab", "ab"},
		{"\xff", ""},
		{"", ""},
		{"\x80", ""},
	} {
		if got, _ := emptyFile(t).unfilter("RL", nil, []byte(c.in)); string(got) != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// A file that ends early, or whose checksum is wrong, keeps the text before the damage.
func TestDamagedDataIsDecodedUpToTheDamage(t *testing.T) {
	t.Parallel()
	data := sampleData()
	whole := deflate(data)
	wrongSum := bytes.Clone(whole)
	wrongSum[len(wrongSum)-1] ^= 1
	for kind, c := range map[string]struct {
		filter name
		in     []byte
		atMin  int
	}{
		"wrong checksum":      {"Fl", wrongSum, len(data)},
		"no checksum":         {"Fl", whole[:len(whole)-4], len(data)},
		"cut zlib":            {"Fl", whole[:len(whole)/2], len(data) / 3},
		"deflate, no header":  {"Fl", whole[2:], len(data)},
		"cut LZW":             {"LZW", lzwEarly(data)[:1000], 1000},
		"wrong ASCII85 digit": {"A85", []byte("87cURD]i,\"Ebo80}}}}"), 12},
	} {
		got, ok := emptyFile(t).unfilter(c.filter, nil, c.in)
		if !ok || len(got) < c.atMin {
			t.Errorf("%s: %d bytes, want at least %d", kind, len(got), c.atMin)
		}
		if c.filter != "A85" && !bytes.HasPrefix(data, got) {
			t.Errorf("%s: the decoded bytes differ from the data", kind)
		}
	}
}

func TestLZWWithImpossibleCodesEnds(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "\x80", "\xff\xff\xff\xff", "\x80\x00\x00\x00", "\x80\x0b\x60\x50\xff\xff\xff"} {
		if got, ok := emptyFile(t).unfilter("LZW", nil, []byte(in)); !ok || len(got) > 16 {
			t.Errorf("%q: %d bytes", in, len(got))
		}
	}
}

// predicted encodes rows with a PNG filter (PNG specification, section 9).
func predicted(kind byte, data []byte, row, pixel int) []byte {
	var out []byte
	above := make([]byte, row)
	for len(data) > 0 {
		line := data[:row]
		out = append(out, kind)
		for i, c := range line {
			var left, corner byte
			if i >= pixel {
				left, corner = line[i-pixel], above[i-pixel]
			}
			switch kind {
			case 1:
				c -= left
			case 2:
				c -= above[i]
			case 3:
				c -= byte((int(left) + int(above[i])) / 2)
			case 4:
				c -= paeth(left, above[i], corner)
			}
			out = append(out, c)
		}
		above, data = line, data[row:]
	}
	return out
}

func TestPredictorsAreReversed(t *testing.T) {
	t.Parallel()
	data := sampleData()[:60*40]
	for _, shape := range []struct {
		params     dict
		row, pixel int
	}{
		{dict{"Columns": 60.0}, 60, 1},
		{dict{"Columns": 20.0, "Colors": 3.0}, 60, 3},
		{dict{"Columns": 10.0, "Colors": 3.0, "BitsPerComponent": 16.0}, 60, 6},
		{dict{"Columns": 480.0, "BitsPerComponent": 1.0}, 60, 1},
	} {
		for kind := range byte(5) {
			p := dict{"Predictor": 15.0}
			for k, v := range shape.params {
				p[k] = v
			}
			got := emptyFile(t).predict(predicted(kind, data, shape.row, shape.pixel), p)
			if !bytes.Equal(got, data) {
				t.Errorf("PNG filter %d of %v: the data differ", kind, shape.params)
			}
		}
	}
	tiff := bytes.Clone(data)
	for start := 0; start < len(tiff); start += 60 {
		for i := start + 59; i >= start+3; i-- {
			tiff[i] -= tiff[i-3]
		}
	}
	got := emptyFile(t).predict(tiff, dict{"Predictor": 2.0, "Columns": 20.0, "Colors": 3.0})
	if !bytes.Equal(got, data) {
		t.Error("TIFF predictor: the data differ")
	}
}

// Paeth chooses the neighbour nearest to left + above - corner, in this order of preference.
func TestPaethPrefersLeftThenAbove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ left, above, corner, want byte }{
		{0, 0, 0, 0}, {10, 20, 10, 20}, {10, 20, 20, 10}, {10, 20, 15, 15}, {7, 7, 3, 7}, {255, 0, 255, 0}, {50, 60, 0, 60},
	} {
		if got := paeth(c.left, c.above, c.corner); got != c.want {
			t.Errorf("paeth(%d, %d, %d) = %d, want %d", c.left, c.above, c.corner, got, c.want)
		}
	}
}

func TestImpossiblePredictorParametersDoNoHarm(t *testing.T) {
	t.Parallel()
	for _, p := range []dict{
		nil,
		{"Predictor": 1.0},
		{"Predictor": 15.0, "Columns": 1e9},
		{"Predictor": 15.0, "Columns": -4.0, "Colors": 0.0, "BitsPerComponent": -8.0},
		{"Predictor": 15.0, "Colors": 1e6},
		{"Predictor": 2.0, "BitsPerComponent": 64.0},
		{"Predictor": 12.0, "Columns": float64(1 << 20), "Colors": 32.0, "BitsPerComponent": 16.0},
		{"Predictor": str("x"), "Columns": name("y")},
	} {
		in := []byte("\x02some data of a stream")
		if got := emptyFile(t).predict(bytes.Clone(in), p); len(got) > len(in) {
			t.Errorf("%v: %d bytes became %d", p, len(in), len(got))
		}
	}
}

func TestFilterChainsAreAppliedInOrderUpToALimit(t *testing.T) {
	t.Parallel()
	hexed := func(s string) string { return fmt.Sprintf("%x>", s) }
	once, twice := hexed("text"), hexed(hexed("text"))
	deep := "text"
	var deepFilters array
	for range maxFilters + 1 {
		deep, deepFilters = hexed(deep), append(deepFilters, name("AHx"))
	}
	for kind, c := range map[string]struct {
		filter any
		raw    string
		want   string
	}{
		"no filter":         {nil, "text", "text"},
		"one":               {name("AHx"), once, "text"},
		"a list of one":     {array{name("AHx")}, once, "text"},
		"two":               {array{name("AHx"), name("ASCIIHexDecode")}, twice, "text"},
		"different filters": {array{name("AHx"), name("Fl")}, hexed(string(deflate([]byte("text")))), "text"},
		"identity crypt":    {array{name("Crypt"), name("AHx")}, once, "text"},
		"an image":          {name("DCTDecode"), "\xff\xd8\xff", ""},
		"text in an image":  {array{name("AHx"), name("JPXDecode")}, once, ""},
		"unknown":           {name("NoSuchDecode"), "text", ""},
		"not a name":        {str("AHx"), once, ""},
		"too many":          {deepFilters, deep, ""},
	} {
		f := emptyFile(t)
		got, held := f.decode(&stream{dict: dict{"Filter": c.filter}, raw: []byte(c.raw)})
		if string(got) != c.want {
			t.Errorf("%s: got %q, want %q", kind, got, c.want)
		}
		f.b.Release(held)
		if room := f.b.Room(); room < unlimited(t).Room() {
			t.Errorf("%s: %d bytes stay reserved", kind, unlimited(t).Room()-room)
		}
	}
}

func FuzzFilters(f *testing.F) {
	data := []byte("some data, some data, some data")
	f.Add("FlateDecode", deflate(data), 15, 4, 1, 8)
	f.Add("LZWDecode", lzwEarly(data), 2, 4, 3, 8)
	f.Add("ASCII85Decode", []byte("<~87cURD]i,~>"), 0, 0, 0, 0)
	f.Add("RunLengthDecode", []byte("\x02abc\xf0d\x80"), 12, -1, 99, 16)
	f.Fuzz(func(t *testing.T, filter string, data []byte, predictor, columns, colours, bits int) {
		p := dict{
			"Predictor": float64(predictor), "Columns": float64(columns), "Colors": float64(colours),
			"BitsPerComponent": float64(bits),
		}
		before := bytes.Clone(data)
		_, _ = emptyFile(t).unfilter(name(filter), p, data)
		if !bytes.Equal(before, data) {
			t.Error("a filter changed the bytes of the file")
		}
	})
}
