package embedding

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
)

// Pack encodes a vector as a scale and one byte per component, a quarter of the size. A component is off by at most
// 1/254 of the largest, which changes the cosine of two vectors by about a thousandth; indexes round in the same way.
func Pack(v []float32) []byte {
	var largest float32
	for _, x := range v {
		largest = max(largest, x, -x)
	}
	scale := largest / math.MaxInt8
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(v)), math.Float32bits(scale))
	for _, x := range v {
		var n int8
		if scale > 0 {
			n = int8(math.RoundToEven(float64(x / scale)))
		}
		out = append(out, byte(n))
	}
	return out
}

// Unpack decodes a packed vector. It returns nil for none.
func Unpack(packed []byte) []float32 {
	if len(packed) <= 4 {
		return nil
	}
	scale := math.Float32frombits(binary.LittleEndian.Uint32(packed))
	v := make([]float32, len(packed)-4)
	for i, b := range packed[4:] {
		v[i] = scale * float32(int8(b))
	}
	return v
}

// refused is stored for a text that the model does not accept, so that it is not sent again.
var refused = []byte{}

// passageTexts returns the texts to embed: the document's passages, each preceded by its title.
func passageTexts(title, text string) []string {
	out := analysis.PassageTexts(text)
	for i := range out {
		out[i] = search.Passage(title, out[i])
	}
	return out
}

// hashOf identifies a text. The hash must resist collisions, else an attacker could give a text the vector of
// another.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
