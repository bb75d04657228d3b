package hostile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
)

// text is a text with a part that is repeated too often to be held in memory or compressed in reasonable time.
type text struct {
	before, unit string
	times        int
	after        string
}

// deflate compresses a text. The compressed form of a repeated unit is itself repeated.
func (t text) deflate() (packed []byte, sum uint32, size int64) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	must(err)
	write := func(s string) []byte {
		at := b.Len()
		_, err := io.WriteString(w, s)
		must(err)
		must(w.Flush())
		sum = crc32.Update(sum, crc32.IEEETable, []byte(s))
		size += int64(len(s))
		return bytes.Clone(b.Bytes()[at:])
	}
	write(t.before)
	at := max(1, min(t.times, mib/max(1, len(t.unit))))
	piece := strings.Repeat(t.unit, at)
	left := t.times
	var again []byte
	for n := 0; left >= at && n < 2; n++ {
		again = write(piece)
		left -= at
	}
	for ; left >= at; left -= at {
		b.Write(again)
		sum = crc32.Update(sum, crc32.IEEETable, []byte(piece))
		size += int64(len(piece))
	}
	write(piece[:left*len(t.unit)])
	write(t.after)
	must(w.Close())
	return b.Bytes(), sum, size
}

func gzipped(t text) []byte {
	raw, sum, size := t.deflate()
	out := append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"), raw...)
	out = binary.LittleEndian.AppendUint32(out, sum)
	return binary.LittleEndian.AppendUint32(out, uint32(size))
}
