package pdf

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/lzw"
	"encoding/ascii85"
	"io"
	"math"
)

// decode returns the decoded data of a stream and the memory reserved for it, which the caller releases. Damaged data
// is decoded up to the damage; image filters return nothing.
func (f *file) decode(s *stream) (data []byte, held int) {
	data, held, rest, _ := f.unpack(s)
	if rest != "" {
		f.b.Release(held)
		return nil, 0
	}
	return data, held
}

// unpack is decode for a stream that may end with an image filter, which is returned with its parameters.
func (f *file) unpack(s *stream) (data []byte, held int, rest name, params dict) {
	data = s.raw
	filters := f.list(s.dict["Filter"])
	parameters := f.list(s.dict["DecodeParms"])
	if f.crypt != nil && f.crypt.covers(f.nameOf(s.dict["Type"])) {
		held = len(data)
		f.b.Hold(held)
		f.b.Work(held)
		data = f.crypt.decrypt(data, s.of)
	}
	for i, filter := range filters {
		var p dict
		if i < len(parameters) {
			p = f.dictOf(parameters[i])
		}
		kind := f.nameOf(filter)
		if i >= maxFilters {
			return nil, held, kind, nil
		}
		if kind == "Crypt" {
			continue
		}
		out, ok := f.unfilter(kind, p, data)
		if !ok {
			if i < len(filters)-1 {
				data = nil // an unknown filter before another one
			}
			return data, held, cmp.Or(kind, "unknown"), p
		}
		f.b.Release(held)
		data, held = out, cap(out)
	}
	return data, held, "", nil
}

// maxFilters limits the chain of filters of a stream.
const maxFilters = 4

// list resolves a value that may be single or an array.
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

// unfilter applies one filter. The capacity of the result is reserved in the budget.
func (f *file) unfilter(filter name, p dict, data []byte) ([]byte, bool) {
	f.b.Work(workEntry + len(data)/4)
	switch filter {
	case "FlateDecode", "Fl":
		return f.predict(f.inflate(data), p), true
	case "LZWDecode", "LZW":
		if early := f.resolve(p["EarlyChange"]); early == 0.0 {
			r := lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)
			return f.predict(f.readAll(r, len(data)), p), true
		}
		return f.predict(f.unlzw(data), p), true
	case "ASCII85Decode", "A85":
		return f.readAll(ascii85.NewDecoder(bytes.NewReader(base85(data))), len(data)), true
	case "ASCIIHexDecode", "AHx":
		l := lexer{data: data, b: f.b}
		text := l.hex()
		out := f.newSink(len(text))
		f.b.Release(l.held)
		out.write([]byte(text))
		return out.data, true
	case "RunLengthDecode", "RL":
		return f.unrun(data), true
	}
	return nil, false
}

// inflate decodes zlib data and ignores its checksum, because damaged files often have their text before the damage.
func (f *file) inflate(data []byte) []byte {
	if len(data) < 2 {
		return nil
	}
	if data[0]&0x0f == 8 && (int(data[0])<<8|int(data[1]))%31 == 0 {
		data = data[2:]
	}
	r, ok := f.inflater.(flate.Resetter)
	if !ok || r.Reset(bytes.NewReader(data), nil) != nil {
		return nil
	}
	return f.readAll(f.inflater, 4*len(data))
}

// readAll reads to the end. Data before an error is kept.
func (f *file) readAll(r io.Reader, hint int) []byte {
	out, _ := f.b.ReadAll(f.b.Reader(r), math.MaxInt32, int64(hint))
	return out
}

// sink is a growing buffer whose capacity is reserved in the budget.
type sink struct {
	f    *file
	data []byte
}

func (f *file) newSink(size int) *sink {
	f.b.Hold(size)
	return &sink{f, make([]byte, 0, size)}
}

// write appends decoded bytes, which may be a part of the buffer itself.
func (s *sink) write(p []byte) {
	s.f.b.Unpack(len(p))
	s.add(p)
}

func (s *sink) add(p []byte) {
	if len(s.data)+len(p) > cap(s.data) {
		before := cap(s.data)
		size := before + before/2 + len(p) + 1024
		s.f.b.Hold(size)
		grown := make([]byte, len(s.data), size)
		copy(grown, s.data)
		s.data = grown
		s.f.b.Release(before)
	}
	s.data = append(s.data, p...)
}

// base85 returns the data between the marks <~ and ~>, up to the first character that is not base 85: the decoder
// drops a whole buffer for one wrong character.
func base85(data []byte) []byte {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
	for i, c := range data {
		if (c < '!' || c > 'u') && c != 'z' && !space[c] {
			return data[:i]
		}
	}
	return data
}

func (f *file) unrun(data []byte) []byte {
	out := f.newSink(len(data))
	for len(data) > 1 && data[0] != 128 {
		f.b.Work(workToken)
		n := int(data[0])
		if n > 128 {
			out.write(bytes.Repeat(data[1:2], 257-n))
			data = data[2:]
			continue
		}
		end := min(n+2, len(data))
		out.write(data[1:end])
		data = data[end:]
	}
	return out.data
}

// unlzw decodes LZW with early change, which compress/lzw does not support.
func (f *file) unlzw(data []byte) []byte {
	const clearCode, endCode = 256, 257
	type entry struct{ start, end int } // offsets in out
	out := f.newSink(2 * len(data))
	table := make([]entry, 0, 4096)
	width, acc, bits := uint(9), uint(0), uint(0)
	last := entry{-1, -1}
	for _, c := range data {
		acc, bits = acc<<8|uint(c), bits+8
		for bits >= width {
			f.b.Work(workToken)
			code := int(acc>>(bits-width)) & (1<<width - 1)
			bits -= width
			if code == clearCode {
				table, width, last = table[:0], 9, entry{-1, -1}
				continue
			}
			start := len(out.data)
			switch i := code - 258; {
			case code < 256:
				out.write([]byte{byte(code)})
			case code == endCode:
				return out.data
			case i < len(table):
				out.write(out.data[table[i].start:table[i].end])
			case i == len(table) && last.start >= 0:
				out.write(out.data[last.start:last.end])
				out.write(out.data[last.start : last.start+1])
			default:
				return out.data
			}
			if last.start >= 0 && len(table) < 4096-258 {
				// The byte that follows the previous entry in out completes the new one.
				table = append(table, entry{last.start, last.end + 1})
			}
			last = entry{start, len(out.data)}
			for width < 12 && len(table)+258+1 >= 1<<width {
				width++
			}
		}
	}
	return out.data
}

// predict reverses the TIFF and PNG predictors.
func (f *file) predict(data []byte, p dict) []byte {
	predictor := asInt(f.resolve(p["Predictor"]))
	if predictor < 2 || len(data) == 0 {
		return data
	}
	f.b.Work(2 * len(data))
	columns, colours := or1(f.resolve(p["Columns"])), or1(f.resolve(p["Colors"]))
	bits := asInt(f.resolve(p["BitsPerComponent"]))
	if bits <= 0 {
		bits = 8
	}
	if columns > 1<<20 || colours > 32 || bits > 16 {
		return data[:0]
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
	// Rows are decoded in place; an encoded row is one byte longer. The row above the first is zero. A row is never
	// longer than the data, whatever the dictionary says.
	row = min(row, len(data))
	out, above := data[:0], make([]byte, row)
	for len(data) > 1 {
		kind, line := data[0], data[1:min(row+1, len(data))]
		data = data[1+len(line):]
		unpredict(kind, line, above, pixel)
		out = append(out, line...)
		above = out[len(out)-len(line):]
	}
	return out
}

func or1(x any) int { return max(1, asInt(x)) }

// unpredict reverses the PNG filter of one row in place.
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
