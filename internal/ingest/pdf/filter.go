package pdf

import (
	"bytes"
	"compress/flate"
	"compress/lzw"
	"encoding/ascii85"
	"io"
)

// maxStream is how large a single stream may be once unpacked: no page's text comes near it.
const maxStream = 64 << 20

// decode returns the bytes of a stream. What is damaged is given up to the damage; a filter of pictures gives nothing.
func (f *file) decode(s *stream) []byte {
	data := s.raw
	filters := f.list(s.dict["Filter"])
	params := f.list(s.dict["DecodeParms"])
	if f.crypt != nil && f.nameOf(s.dict["Type"]) != "XRef" {
		data = f.crypt.decrypt(data, s.of)
	}
	for i, filter := range filters {
		if i >= maxFilters {
			return nil
		}
		var p dict
		if i < len(params) {
			p = f.dictOf(params[i])
		}
		var ok bool
		if data, ok = f.unfilter(f.nameOf(filter), p, data); !ok {
			return nil
		}
		f.b.check()
	}
	return data
}

// maxFilters is how many filters a stream may have on top of each other.
const maxFilters = 4

// list returns a value that may stand alone or in an array.
func (f *file) list(x any) array {
	switch x := f.resolve(x).(type) {
	case nil:
		return nil
	case array:
		return x
	default:
		return array{x}
	}
}

func (f *file) unfilter(filter name, p dict, data []byte) ([]byte, bool) {
	switch filter {
	case "FlateDecode", "Fl":
		return f.predict(f.inflate(data), p), true
	case "LZWDecode", "LZW":
		if early := f.resolve(p["EarlyChange"]); early == 0.0 {
			r := lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)
			return f.predict(f.readAll(r), p), true
		}
		return f.predict(f.unlzw(data), p), true
	case "ASCII85Decode", "A85":
		return f.readAll(ascii85.NewDecoder(bytes.NewReader(armour(data)))), true
	case "ASCIIHexDecode", "AHx":
		l := lexer{data: data, b: f.b}
		return []byte(l.hex()), true
	case "RunLengthDecode", "RL":
		return f.unrun(data), true
	case "Crypt":
		return data, true
	}
	return nil, false
}

// inflate unpacks a zlib stream. Its checksum does not matter: most damaged files have their text before the damage.
func (f *file) inflate(data []byte) []byte {
	if len(data) < 2 {
		return nil
	}
	if data[0]&0x0f == 8 && (int(data[0])<<8|int(data[1]))%31 == 0 {
		data = data[2:]
	}
	r := flate.NewReader(bytes.NewReader(data))
	defer func() { _ = r.Close() }()
	return f.readAll(r)
}

// readAll reads as much as is allowed. A stream past that ends the reading of the file.
func (f *file) readAll(r io.Reader) []byte {
	limit := min(maxStream, f.b.decoded)
	out, _ := io.ReadAll(io.LimitReader(r, int64(limit)+1)) // what was read before an error counts
	f.spend(len(out), limit)
	return out
}

func (f *file) spend(n, limit int) {
	if n > limit {
		panic(stop{ErrTooLarge})
	}
	f.b.decoded -= n
}

// armour leaves the characters of base 85 and nothing else.
func armour(data []byte) []byte {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
	if i := bytes.IndexByte(data, '~'); i >= 0 {
		data = data[:i]
	}
	return data
}

func (f *file) unrun(data []byte) []byte {
	limit := min(maxStream, f.b.decoded)
	var out []byte
	for len(data) > 1 && data[0] != 128 && len(out) <= limit {
		n := int(data[0])
		if n > 128 {
			out = append(out, bytes.Repeat(data[1:2], 257-n)...)
			data = data[2:]
			continue
		}
		end := min(n+2, len(data))
		out = append(out, data[1:end]...)
		data = data[end:]
	}
	f.spend(len(out), limit)
	return out
}

// unlzw reads LZW as PDF has it: codes grow one code early, which compress/lzw does not know.
func (f *file) unlzw(data []byte) []byte {
	const clearCode, endCode = 256, 257
	limit := min(maxStream, f.b.decoded)
	type entry struct{ start, end int } // in out
	var out []byte
	table := make([]entry, 0, 4096)
	width, acc, bits := uint(9), uint(0), uint(0)
	last := entry{-1, -1}
	for _, c := range data {
		acc, bits = acc<<8|uint(c), bits+8
		for bits >= width && len(out) <= limit {
			code := int(acc>>(bits-width)) & (1<<width - 1)
			bits -= width
			if code == clearCode {
				table, width, last = table[:0], 9, entry{-1, -1}
				continue
			}
			start := len(out)
			switch i := code - 258; {
			case code < 256:
				out = append(out, byte(code))
			case code == endCode:
				f.spend(len(out), limit)
				return out
			case i < len(table):
				out = append(out, out[table[i].start:table[i].end]...)
			case i == len(table) && last.start >= 0:
				out = append(out, out[last.start:last.end]...)
				out = append(out, out[last.start])
			default:
				f.spend(len(out), limit)
				return out
			}
			if last.start >= 0 && len(table) < 4096-258 {
				table = append(table, entry{last.start, last.end + 1}) // what follows the last one in out is its next byte
			}
			last = entry{start, len(out)}
			for width < 12 && len(table)+258+1 >= 1<<width {
				width++
			}
		}
	}
	f.spend(len(out), limit)
	return out
}

// predict undoes the differences that some writers take before they pack (TIFF and PNG).
func (f *file) predict(data []byte, p dict) []byte {
	predictor := asInt(f.resolve(p["Predictor"]))
	if predictor < 2 {
		return data
	}
	columns, colours, bits := or1(f.resolve(p["Columns"])), or1(f.resolve(p["Colors"])), asInt(f.resolve(p["BitsPerComponent"]))
	if bits <= 0 {
		bits = 8
	}
	if columns > 1<<20 || colours > 32 || bits > 16 {
		return nil
	}
	pixel := max(1, colours*bits/8)
	row := (columns*colours*bits + 7) / 8
	if predictor == 2 {
		for start := 0; start+row <= len(data) && bits == 8; start += row {
			for i := start + pixel; i < start+row; i++ {
				data[i] += data[i-pixel]
			}
		}
		return data
	}
	out := make([]byte, 0, len(data))
	above := make([]byte, row)
	for len(data) > 1 {
		kind, line := data[0], data[1:min(row+1, len(data))]
		data = data[1+len(line):]
		unpredict(kind, line, above, pixel)
		out = append(out, line...)
		copy(above, line)
	}
	return out
}

func or1(x any) int { return max(1, asInt(x)) }

// unpredict undoes one row of PNG's filters in place.
func unpredict(kind byte, line, above []byte, pixel int) {
	for i := range line {
		var left, corner byte
		if i >= pixel {
			left, corner = line[i-pixel], above[i-pixel]
		}
		switch kind {
		case 1:
			line[i] += left
		case 2:
			line[i] += above[i]
		case 3:
			line[i] += byte((int(left) + int(above[i])) / 2)
		case 4:
			line[i] += paeth(left, above[i], corner)
		}
	}
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	pa, pb, pc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
